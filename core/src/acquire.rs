//! The way in: one load, or the cold path.

use core::mem;
use core::num::NonZeroU32;

use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::Rejected;
use crate::machine::{Machine, Step};
use crate::observer::Observer;
use crate::permit::{Attempt, Permit};
use crate::tally::Tally;
use crate::ticket::Ticket;
use crate::time::TimeBase;
use crate::word::{self, Peek, Word};

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Asks for the right to one call.
    ///
    /// Closed: one load. Open: rejected at once with the time left, or, when the open time is over,
    /// half-open with this call as its first probe. Half-open: a free slot, or the slot of a probe
    /// that was lost, or rejected. Returning: passes or is rejected, as its share says.
    ///
    /// # A dropped permit counts as nothing
    ///
    /// So this never counts a failure, as `?` drops the permit:
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
    /// For `?` there are [`attempt`](Self::attempt), which fails when it is dropped, and
    /// [`call`](Self::call). `acquire` is for those who report every outcome themselves.
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
    ///     Ok(permit) if ping() => { permit.success(); }
    ///     Ok(permit) => { permit.failure(); }
    ///     Err(rejected) => println!("not tried: {rejected}"),
    /// }
    /// ```
    #[inline]
    pub fn acquire(&self) -> Result<Permit<&Self>, Rejected> {
        Permit::acquire(self)
    }

    /// Asks for the right to one call that counts as failed unless reported otherwise: for code that leaves
    /// by `?` or `return` when something went wrong.
    ///
    /// # Errors
    /// [`Rejected`] says how long to wait.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    ///
    /// fn first_number(
    ///     breaker: &Breaker<ManualClock>,
    ///     answer: &str,
    /// ) -> Result<u32, Box<dyn std::error::Error>> {
    ///     let attempt = breaker.attempt()?;
    ///     let number = answer.split(' ').next().ok_or("empty")?.parse()?;
    ///     attempt.success();
    ///     Ok(number)
    /// }
    ///
    /// let breaker = Breaker::new(Config::new(), ManualClock::new());
    /// assert!(first_number(&breaker, "x").is_err());
    /// assert_eq!(breaker.snapshot().failures(), 1);
    /// ```
    #[inline]
    pub fn attempt(&self) -> Result<Attempt<&Self>, Rejected> {
        self.acquire().map(Permit::failing_when_dropped)
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

    /// Not closed, or slow calls are measured.
    #[cold]
    #[inline(never)]
    fn admit_cold(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let rejected = match self.reject() {
            Some(rejected) => Err(rejected),
            None => self.admit_or_reject(),
        };
        if let Err(rejected) = rejected {
            self.observer.rejected(rejected);
        }
        rejected
    }

    /// Rejects without the machinery of an exchange, where that is all there is to do. A microcontroller has
    /// more time than flash.
    #[inline]
    fn reject(&self) -> Option<Rejected> {
        if cfg!(target_pointer_width = "64") {
            Machine::<W::Bits>::reject(word::load_acquire(&self.word), &self.clock)
        } else {
            None
        }
    }

    /// Apart, so that a rejection saves no registers for it.
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
            started_ms: machine
                .config
                .slow_call_ms
                .map(|_| NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN)),
        };
        // There is no permit yet that would give its slot back if the observer panics.
        let slot = GiveBack(|| self.give_back(ticket));
        self.notify(applied);
        mem::forget(slot);
        Ok(ticket)
    }

    /// The ticket as if it were granted now, if what it says still counts.
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
        let now_ms = || NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN);
        holds.then(|| Ticket {
            granted: applied.bits,
            started_ms: ticket.started_ms.map(|_| now_ms()),
        })
    }
}

struct GiveBack<F: Fn()>(F);

impl<F: Fn()> Drop for GiveBack<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
