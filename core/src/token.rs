//! A permit on its way elsewhere.

use core::num::NonZeroU32;

use crate::breaker::{AnyBreaker, BitsOf, Breaker};
use crate::clock::Clock;
use crate::config::AsRules;
use crate::observer::Observer;
use crate::permit::Permit;
use crate::tally::Tally;
use crate::ticket::Ticket;
use crate::word::{Bits, NativeBits, Word};

/// A permit without its breaker, to be sent through a queue, stored in a `static` or handed to an
/// interrupt handler; [`Breaker::resume`] makes a permit of it again.
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
/// // Later, where the answer comes in:
/// breaker.resume(finished.recv().unwrap()).success();
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
#[must_use = "resume the token to report how the call went: one that is dropped is a lost probe"]
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Token<B = NativeBits>(pub(crate) Ticket<B>);

impl<B: Bits> Token<B> {
    /// The token as two numbers, the word when it was granted and the start in milliseconds (0 if not
    /// measured), for mailboxes that hold nothing else. Use them once: a second report of the same permit
    /// counts a second time.
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

impl<H: AnyBreaker> Permit<H> {
    /// The permit without its breaker, to be reported elsewhere.
    #[inline]
    pub fn into_token(self) -> Token<BitsOf<H>> {
        Token(self.into_ticket())
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Turns a token back into a permit. The token must come from a permit of this breaker, or of one over
    /// the same word.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a token is used once")]
    pub fn resume(&self, token: Token<W::Bits>) -> Permit<&Self> {
        Permit::new(self, token.0)
    }
}
