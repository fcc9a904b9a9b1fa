//! The way in: one load, or the cold path.

use core::num::NonZeroU32;

use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::error::Rejected;
use crate::observer::Observer;
use crate::permit::Permit;
use crate::tally::Tally;
use crate::token::Ticket;
use crate::word::{self, Peek, Word};

impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// Asks for the right to one call.
    ///
    /// Closed: one load. Open: refused at once with the time left, or, when the open time is over,
    /// half-open with this call as its first probe. Half-open: a free slot, or the slot of a probe
    /// that was lost, or refused.
    ///
    /// # Errors
    /// [`Rejected`] says how long to wait.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    /// # fn ping() -> bool { true }
    ///
    /// let clock = ManualClock::new();
    /// let breaker = Breaker::new(Config::new(), &clock);
    /// match breaker.acquire() {
    ///     Ok(permit) if ping() => permit.success(),
    ///     Ok(permit) => permit.failure(),
    ///     Err(rejected) => println!("not tried: {rejected}"),
    /// }
    /// ```
    #[inline]
    pub fn acquire(&self) -> Result<Permit<'_, C, W, T, O>, Rejected> {
        let seen = word::glance(&self.word);
        let ticket = if seen.is_closed() && self.config.slow_call_ms.is_none() {
            Ticket {
                granted: seen,
                started_ms: None,
            }
        } else {
            self.acquire_cold()?
        };
        Ok(Permit {
            breaker: self,
            ticket,
        })
    }

    /// Not closed, or slow calls are measured.
    #[cold]
    #[inline(never)]
    fn acquire_cold(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let refused = self
            .machine()
            .refuse(word::read(&self.word), &self.clock)
            .map_or_else(|| self.admit(), Err);
        if let Err(rejected) = refused {
            self.observer.refused(rejected);
        }
        refused
    }

    /// Apart, so that a refusal saves no registers for it.
    #[cold]
    #[inline(never)]
    fn admit(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let machine = self.machine();
        let granted = self.apply(|circuit, now| machine.admit(circuit, now))?;
        Ok(Ticket {
            granted,
            started_ms: self
                .config
                .slow_call_ms
                .map(|_| NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN)),
        })
    }
}
