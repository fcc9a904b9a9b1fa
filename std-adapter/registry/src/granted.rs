//! What was granted to a call of a key.

use std::num::NonZeroU32;

use atomic_breaker::Token;

use crate::registry::Place;

/// What was granted to a call of a key.
///
/// Flat, because it is moved at each step of a call: the fields of an enum are moved in pieces that do not
/// match the preceding writes, and the processor stalls on each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    pub(super) kind: Kind,
    /// `None` if the call is not measured.
    pub(super) started_ms: Option<NonZeroU32>,
    /// Used by [`Admitted`](Kind::Admitted) and [`Probe`](Kind::Probe).
    pub(super) place: Place,
    /// The word when it was granted; for [`Absent`](Kind::Absent), how many keys had got a slot.
    bits: u64,
}

/// What granted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// By the breaker of a slot.
    Admitted,
    /// By the breaker of a slot, as a probe.
    Probe,
    /// The key has no slot.
    Absent,
    /// The call should have been rejected, and is not reported.
    Unguarded,
    /// Already reported.
    Ended,
}

impl Granted {
    pub(super) const UNGUARDED: Self = Self {
        kind: Kind::Unguarded,
        started_ms: None,
        place: Place::NONE,
        bits: 0,
    };

    #[inline]
    pub(super) const fn admitted(place: Place, is_probe: bool, token: Token<u64>) -> Self {
        let (bits, started_ms) = token.into_raw();
        Self {
            kind: if is_probe {
                Kind::Probe
            } else {
                Kind::Admitted
            },
            started_ms: NonZeroU32::new(started_ms),
            place,
            bits,
        }
    }

    #[inline]
    pub(super) const fn absent(inserted: u64, started_ms: Option<NonZeroU32>) -> Self {
        Self {
            kind: Kind::Absent,
            started_ms,
            place: Place::NONE,
            bits: inserted,
        }
    }

    /// The token of an admitted call or a probe.
    #[inline]
    pub(super) const fn token(self) -> Token<u64> {
        as_token(self.bits, self.started_ms)
    }

    /// For an absent key: how many keys had got a slot.
    #[inline]
    pub(super) const fn inserted(self) -> u64 {
        self.bits
    }
}

/// The token of a word and a start.
#[inline]
pub(super) const fn as_token(bits: u64, started_ms: Option<NonZeroU32>) -> Token<u64> {
    match started_ms {
        Some(started_ms) => Token::from_raw(bits, started_ms.get()),
        None => Token::from_raw(bits, 0),
    }
}
