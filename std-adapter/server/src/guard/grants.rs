// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source of a permit, and the state of its admission.

use std::hash::Hash;

use atomic_breaker::{Outcome, State, Token, Transition, wait::Awaited, word::Bits};

use crate::loss::{Begun, ConnectionId};
use crate::permit::Rejection;

/// The state that a [`GuardPermit`](crate::GuardPermit) keeps of its admission.
///
/// Flat, because it is moved at each step of a call: the fields of an enum are moved in pieces that do not match the
/// preceding writes, and the processor stalls on each.
#[derive(Clone, Copy, Debug)]
pub struct Granted<B, P = ()> {
    pub(crate) kind: Kind,
    /// 0 if the call is not measured.
    pub(crate) started_ms: u32,
    /// Used by [`Admitted`](Kind::Admitted) and [`Probe`](Kind::Probe).
    pub(crate) place: P,
    /// The word when it was granted.
    pub(crate) bits: B,
}

/// The kind of a permit, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A breaker.
    Admitted,
    /// A breaker, as a probe.
    Probe,
    /// Nothing: the key has no slot.
    Absent,
    /// Nothing: the call should have been rejected, and is not reported.
    Unguarded,
    /// Already reported.
    Ended,
}

impl<B: Bits, P> Granted<B, P> {
    /// An admitted call or a probe.
    #[inline]
    pub(crate) const fn by_breaker(is_probe: bool, token: Token<B>, place: P) -> Self
    where
        P: Copy,
    {
        let kind = if is_probe {
            Kind::Probe
        } else {
            Kind::Admitted
        };
        let (bits, started_ms) = token.into_raw();
        Self {
            kind,
            started_ms,
            place,
            bits,
        }
    }

    /// A call that should have been rejected, and is not reported.
    pub(crate) const fn unguarded(nowhere: P) -> Self {
        Self {
            kind: Kind::Unguarded,
            started_ms: 0,
            place: nowhere,
            bits: B::FRESH,
        }
    }

    /// Returns whether a breaker admitted the call, and it is not yet reported.
    #[inline]
    pub(crate) const fn is_by_breaker(&self) -> bool {
        matches!(self.kind, Kind::Admitted | Kind::Probe)
    }

    /// The token of an admitted call or a probe.
    #[inline]
    pub(crate) const fn token(&self) -> Token<B> {
        Token::from_raw(self.bits, self.started_ms)
    }
}

/// A handle that grants permits: that of a [`Resource`](crate::Resource), a reference or an `Arc`, or a
/// [`KeyGuard`](crate::KeyGuard) of a registry. No other type implements it.
pub trait Grants {
    /// The key of the breaker; `()` if there is one breaker only.
    type Key: Hash;
    /// The bits of its word.
    type Bits: Bits;
    /// The place of the breaker.
    type Place: Copy;
    /// The thing that a waiting caller looks at.
    type Awaited: Awaited;

    /// The key of the breaker.
    fn key(&self) -> &Self::Key;

    /// The thing that a waiting caller looks at.
    fn awaited(&self) -> &Self::Awaited;

    /// Returns whether a rejection in this state is enforced; `random` is spread evenly over all its values.
    fn is_enforced(&self, state: State, random: impl FnOnce() -> u32) -> bool;

    /// A random number, spread evenly over all its values.
    fn random(&self) -> u32;

    /// Asks for a permit. `random` decides whether a rejection is enforced.
    fn grant(
        &self,
        random: impl Fn() -> u32,
    ) -> Result<Granted<Self::Bits, Self::Place>, Rejection>;

    /// Reports the outcome, or that the call was cancelled, and keeps the words if that opens the breaker.
    fn end(
        &self,
        granted: Granted<Self::Bits, Self::Place>,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition>;

    /// Returns whether a failure that ended the calls of a connection counts for one that began then.
    fn counts_shared(&self, begun: Begun, connection: ConnectionId) -> bool;

    /// Returns whether a report of such a call, or of one whose key had no slot, would still count.
    fn still_counts(&self, granted: Granted<Self::Bits, Self::Place>) -> bool;

    /// Starts an admitted call or a probe again; `None` if its report would no longer count, or if this cannot be known.
    fn renew(
        &self,
        granted: Granted<Self::Bits, Self::Place>,
    ) -> Option<Granted<Self::Bits, Self::Place>>;
}
