// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way in: one load, or the cold path.

use core::num::NonZeroU32;

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::Rejected;
use crate::machine::{Machine, Step};
use crate::observer::Observer;
use crate::outcome::or_on_panic;
use crate::permit::Permit;
use crate::state::State;
use crate::tally::Tally;
use crate::time::TimeBase;
use crate::token::{Ticket, Token};
use crate::word::{self, Peek, Word};

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Asks for the right to one call.
    ///
    /// Closed: admitted, at the cost of one load. Open: rejected at once with the time left; once the open
    /// time is over, the breaker becomes half-open with this call as its first probe. Half-open: takes a
    /// free slot or the slot of a lost probe, or is rejected. Returning: passes or is rejected according to
    /// the current share.
    ///
    /// # A dropped permit counts as nothing
    ///
    /// This code never counts a failure, because `?` drops the permit:
    ///
    /// ```
    /// # use atomic_breaker::{Breaker, ManualClock};
    /// # fn work() -> Result<(), Box<dyn std::error::Error>> { Ok(()) }
    /// # fn f(breaker: &Breaker<ManualClock>) -> Result<(), Box<dyn std::error::Error>> {
    /// let permit = breaker.acquire()?;
    /// work()?; // wrong: the permit is cancelled
    /// permit.success();
    /// # Ok(()) }
    /// ```
    ///
    /// With `?`, make it one that is [failing when dropped](Permit::failing_when_dropped), or use [`call`](Self::call):
    /// a plain permit is for code that reports every outcome itself.
    #[inline]
    pub fn acquire(&self) -> Result<Permit<&Self>, Rejected> {
        Permit::acquire(self)
    }

    #[inline]
    pub(crate) fn admit(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let seen = word::load_relaxed(&self.word);
        if seen.is_closed() && self.config().slow_call_ms.is_none() {
            Ok(Ticket {
                granted: seen,
                started_ms: None,
            })
        } else {
            self.admit_cold()
        }
    }

    /// The path when the breaker is not closed, or slow calls are measured.
    #[cold]
    #[inline(never)]
    fn admit_cold(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let admitted = match self.reject() {
            Some(rejected) => Err(rejected),
            None => self.admit_or_reject(),
        };
        if let Err(rejected) = admitted {
            self.observer.rejected(rejected);
        }
        admitted
    }

    /// The short way of most calls during an outage: the machine's own rejection, without the machinery of an
    /// exchange. Without it a rejection takes 2 ns more on a 64-bit processor; on a microcontroller flash is scarcer
    /// than time.
    #[inline]
    fn reject(&self) -> Option<Rejected> {
        if cfg!(not(target_pointer_width = "64")) {
            return None;
        }
        let seen = word::load_acquire(&self.word);
        let circuit = Circuit::of_valid(seen);
        if !circuit.is_open() || !word::is_valid(seen) {
            return None;
        }
        let left = Machine::open_time_left(circuit, self.clock.now_ms())?;
        Some(Rejected::until(State::Open, left))
    }

    /// Out of line where there is a short way, so that the short way does not spill registers for this one; inlined
    /// where there is none, which takes 8 bytes of flash less on a Cortex-M0.
    #[cfg_attr(target_pointer_width = "64", cold, inline(never))]
    #[cfg_attr(not(target_pointer_width = "64"), inline(always))]
    fn admit_or_reject(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let machine = self.machine();
        let mut rejection = None;
        let applied = self.apply(|circuit, now| match machine.admit(circuit, now) {
            Ok(step) => step,
            Err(rejected) => {
                rejection = Some(rejected);
                Step::Keep
            }
        });
        if let Some(rejected) = rejection {
            return Err(rejected);
        }
        let ticket = Ticket {
            granted: applied.bits,
            started_ms: machine.config.slow_call_ms.map(|_| self.start_ms()),
        };
        // No permit exists yet that would give the slot back if the observer panics.
        or_on_panic(|| self.notify(applied), || self.give_back(ticket));
        Ok(ticket)
    }

    /// The ticket renewed as if it were granted now, if its report would still count.
    #[inline]
    #[cold]
    pub(crate) fn renew(&self, ticket: Ticket<W::Bits>) -> Option<Ticket<W::Bits>> {
        let machine = self.machine();
        let mut holds = false;
        let applied = self.apply(|circuit, now| {
            holds = machine.holds(circuit, ticket.granted);
            if holds && circuit.is_half_open() {
                Step::Update(circuit.with_time(W::Bits::stamp(now.ms())))
            } else {
                Step::Keep
            }
        });
        holds.then(|| Ticket {
            granted: applied.bits,
            started_ms: ticket.started_ms.map(|_| self.start_ms()),
        })
    }

    /// Asks for the right to report data that arrived without a call, from a device that sends by itself: while traffic
    /// returns, none of it is turned away, as no call is made.
    #[doc(hidden)]
    pub fn acquire_heard(&self) -> Result<Permit<&Self>, Rejected> {
        let granted = word::load_acquire(&self.word);
        if Circuit::of_valid(granted).counts_failures() && word::is_valid(granted) {
            let started_ms = None;
            return Ok(Permit::new(
                self,
                Ticket {
                    granted,
                    started_ms,
                },
            ));
        }
        self.acquire()
    }

    fn start_ms(&self) -> NonZeroU32 {
        NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN)
    }

    /// Turns a token back into a permit. The token must come from a permit of this breaker, or of one over
    /// the same word.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a token is used once")]
    pub fn resume(&self, token: Token<W::Bits>) -> Permit<&Self> {
        Permit::new(self, token.0)
    }
}
