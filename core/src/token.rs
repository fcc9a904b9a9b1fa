// SPDX-License-Identifier: MIT OR Apache-2.0
//! A permit without its breaker: what it remembers, and how it travels.

use core::num::NonZeroU32;

use crate::circuit::Circuit;
use crate::state::State;
use crate::word::{Bits, NativeBits};

/// The word when the permit was granted and, if slow calls are measured, the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Ticket<B> {
    pub(crate) granted: B,
    /// Not zero, so that a ticket travels in two registers: a start at 0 is recorded as 1.
    pub(crate) started_ms: Option<NonZeroU32>,
}

impl<B: Bits> Ticket<B> {
    /// Returns whether it was granted while half-open.
    pub(crate) fn is_probe(self) -> bool {
        Circuit::decode(self.granted).is_some_and(|seen| seen.state() == State::HalfOpen)
    }

    /// The trips in a row if it was granted while half-open, at least 1; otherwise 0.
    pub(crate) fn trips(self) -> u8 {
        match Circuit::decode(self.granted) {
            Some(seen) if seen.state() == State::HalfOpen => seen.trips().max(1) as u8,
            _ => 0,
        }
    }
}

/// A permit without its breaker, to be sent through a queue, stored in a `static` or handed to an
/// interrupt handler; [`Breaker::resume`](crate::Breaker::resume) turns it back into a permit.
///
/// A probe whose token is dropped is lost: its slot is free again only after the lease. Move a token
/// through something that synchronizes, as every channel, lock and critical section does.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Token};
/// use std::sync::mpsc;
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new(), &clock);
/// let (started, finished) = mpsc::channel::<Token>();
///
/// started.send(breaker.acquire()?.into_token()).unwrap();
/// // Later, where the response comes in:
/// breaker.resume(finished.recv().unwrap()).success();
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
#[must_use = "resume the token to report how the call went: one that is dropped is a lost probe"]
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Token<B = NativeBits>(pub(crate) Ticket<B>);

impl<B: Bits> Token<B> {
    /// The permit's [`trips`](crate::Permit::trips).
    pub fn trips(&self) -> u8 {
        self.0.trips()
    }

    /// The token as two numbers, the word when it was granted and the start in milliseconds (0 if not measured), for
    /// mailboxes that hold nothing else. Use them once: a second report counts a second time.
    pub const fn into_raw(self) -> (B, u32) {
        let started_ms = match self.0.started_ms {
            Some(ms) => ms.get(),
            None => 0,
        };
        (self.0.granted, started_ms)
    }

    /// The token made from two numbers from [`into_raw`](Self::into_raw).
    pub const fn from_raw(granted: B, started_ms: u32) -> Self {
        Self(Ticket {
            granted,
            started_ms: NonZeroU32::new(started_ms),
        })
    }
}
