//! The right to one call: acquired, reported once, given back when dropped.

use core::convert::Infallible;
use core::fmt;
use core::mem::ManuallyDrop;
use core::num::NonZeroU32;

use crate::breaker::Breaker;
use crate::circuit::{Circuit, Phase};
use crate::clock::{Clock, Now};
use crate::error::Rejected;
use crate::machine::{Fail, Step};
use crate::observer::Observer;
use crate::outcome::{AnyError, Classify, Failure, Outcome};
use crate::tally::{Call, Tally, Verdict};
use crate::word::{self, Bits, NativeBits, NativeWord, Peek, Word};

/// What a permit remembers: the word when it was granted and, where slow calls are measured, the
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Ticket<B> {
    granted: B,
    /// Not zero, so that a ticket travels in two registers: a start at 0 is taken for 1.
    started_ms: Option<NonZeroU32>,
}

/// The right to one call. Report how it went; dropping it cancels, and gives a probe's slot back.
///
/// ```
/// use atomic_breaker::{Breaker, Config, Failure, ManualClock};
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new(), &clock);
///
/// let permit = breaker.acquire()?;
/// match "41".parse::<u32>() {
///     Ok(_) => permit.success(),
///     Err(_) => permit.report(Failure::weighing(2)),
/// }
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct Permit<'a, C: Clock, W: Word = NativeWord, T: Tally = (), O: Observer = ()> {
    breaker: &'a Breaker<C, W, T, O>,
    ticket: Ticket<W::Bits>,
}

/// A permit without its breaker, to be sent through a queue, stored in a `static` or handed to an
/// interrupt handler; [`Breaker::resume`] makes a permit of it again.
///
/// A token that is dropped is a lost probe: its slot comes back only after the lease. Move it by
/// something that synchronizes, as every channel, lock and critical section does.
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
pub struct Token<B = NativeBits>(Ticket<B>);

impl<B: Bits> Token<B> {
    /// The token as two numbers, for mailboxes that hold nothing else. Use them once: a second
    /// report of the same permit counts a second time.
    pub const fn into_raw(self) -> (B, u32) {
        let started_ms = match self.0.started_ms {
            Some(ms) => ms.get(),
            None => 0,
        };
        (self.0.granted, started_ms)
    }

    /// The token of two numbers from [`into_raw`](Self::into_raw).
    pub const fn from_raw(granted: B, started_ms: u32) -> Self {
        Self(Ticket {
            granted,
            started_ms: NonZeroU32::new(started_ms),
        })
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// Asks for the right to one call.
    ///
    /// Closed: one load. Open: refused at once with the time left, or, when the open time is over,
    /// half-open with this call as its first probe. Half-open: a free slot, or the slot of a probe
    /// that was lost, or refused.
    ///
    /// # Errors
    /// [`Rejected`] says how long to wait.
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

    #[cold]
    #[inline(never)]
    fn acquire_cold(&self) -> Result<Ticket<W::Bits>, Rejected> {
        let machine = self.machine();
        match self.apply(|circuit, now| machine.admit(circuit, now)) {
            Ok(granted) => Ok(Ticket {
                granted,
                started_ms: self
                    .config
                    .slow_call_ms
                    .map(|_| NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN)),
            }),
            Err(rejected) => {
                self.observer.refused(rejected);
                Err(rejected)
            }
        }
    }

    /// Makes a permit of a token again. The token must be of a permit of this breaker, or of one
    /// over the same word with the same configuration.
    #[inline]
    pub fn resume(&self, token: Token<W::Bits>) -> Permit<'_, C, W, T, O> {
        Permit {
            breaker: self,
            ticket: token.0,
        }
    }

    /// A success that may change something: failures are counted, a probe is out, outcomes are
    /// remembered, or the call may have been slow.
    #[cold]
    #[inline(never)]
    fn succeed(&self, ticket: Ticket<W::Bits>) {
        if self.was_slow(ticket) {
            return self.fail(ticket, Failure::new());
        }
        let machine = self.machine();
        let mut is_recorded = !T::ENABLED;
        self.settle(ticket, |circuit, _| {
            if !is_recorded && matches!(circuit.phase, Phase::Closed { .. }) {
                // Only a failure can trip.
                let _ = self.tally.record(Call::success(circuit.epoch as u16));
                is_recorded = true;
            }
            machine.succeed(circuit)
        });
    }

    #[cold]
    #[inline(never)]
    fn fail(&self, ticket: Ticket<W::Bits>, failure: Failure) {
        let machine = self.machine();
        let mut verdict = None;
        self.settle(ticket, |circuit, now| {
            let ratio_reached = match circuit.phase {
                Phase::Closed { .. } if T::ENABLED => {
                    let call = Call::failure(circuit.epoch as u16, failure.weight);
                    *verdict.get_or_insert_with(|| self.tally.record(call)) == Verdict::Trip
                }
                _ => false,
            };
            let fail = Fail {
                failure,
                ratio_reached,
            };
            machine.fail(circuit, fail, now)
        });
    }

    /// A permit that ends without a word about the resource: only a probe has something to return.
    #[inline]
    fn put_back(&self, ticket: Ticket<W::Bits>) {
        if !ticket.granted.is_closed() {
            self.give_back(ticket);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back(&self, ticket: Ticket<W::Bits>) {
        let machine = self.machine();
        self.settle(ticket, |circuit, _| machine.give_back(circuit));
    }

    /// Applies what a permit says, if it still holds.
    fn settle(&self, ticket: Ticket<W::Bits>, mut step: impl FnMut(Circuit, &Now<'_, C>) -> Step) {
        // A permit granted by a word that is no state says nothing about any epoch.
        let Ok(granted) = Circuit::decode(ticket.granted) else {
            return;
        };
        let machine = self.machine();
        let Ok(_) = self.apply(|circuit, now| {
            Ok::<_, Infallible>(if machine.holds(circuit, granted) {
                step(circuit, now)
            } else {
                Step::Stay
            })
        });
    }

    fn was_slow(&self, ticket: Ticket<W::Bits>) -> bool {
        match (ticket.started_ms, self.config.slow_call_ms) {
            (Some(started), Some(limit)) => {
                let took = self.clock.now_ms().wrapping_sub(started.get());
                // More than half the range: the clock stepped back.
                took >= limit && took <= u32::MAX / 2
            }
            _ => false,
        }
    }
}

impl<'a, C: Clock, W: Word, T: Tally, O: Observer> Permit<'a, C, W, T, O> {
    /// The call succeeded.
    ///
    /// Closed with no failures counted: one load. Otherwise clears the count of consecutive
    /// failures, or counts the success of a probe, which closes when it is the last one needed.
    #[inline]
    pub fn success(self) {
        let (breaker, ticket) = self.end();
        breaker.observer.outcome(Outcome::Success);
        // Whatever the permit's epoch: in a clear word there is nothing to change.
        let is_measured = T::ENABLED || ticket.started_ms.is_some();
        if is_measured || !word::glance(&breaker.word).is_closed_and_clear() {
            breaker.succeed(ticket);
        }
    }

    /// The call failed: a failure of weight 1.
    #[inline]
    pub fn failure(self) {
        self.report(Failure::new());
    }

    /// The call ended with an [`Outcome`] or a [`Failure`].
    #[inline]
    pub fn report(self, outcome: impl Into<Outcome>) {
        let outcome = outcome.into();
        if let Outcome::Success = outcome {
            return self.success();
        }
        let (breaker, ticket) = self.end();
        breaker.observer.outcome(outcome);
        match outcome {
            Outcome::Failure(failure) => breaker.fail(ticket, failure),
            Outcome::Success | Outcome::Ignored => breaker.put_back(ticket),
        }
    }

    /// The call ended with a result: `Ok` is a success, `Err` a failure of weight 1.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let breaker = Breaker::new(Config::new(), &clock);
    /// let permit = breaker.acquire()?;
    /// let parsed = "x".parse::<u32>();
    /// permit.record(&parsed);
    /// assert_eq!(breaker.snapshot().failures(), 1);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[inline]
    pub fn record<R, E>(self, result: &Result<R, E>) {
        self.report(AnyError.classify(result));
    }

    /// Gives the permit back without saying anything about the resource, as dropping it does.
    #[inline]
    pub fn cancel(self) {
        drop(self);
    }

    /// Whether this call is a probe: admitted while half-open.
    pub fn is_probe(&self) -> bool {
        matches!(
            Circuit::decode(self.ticket.granted),
            Ok(Circuit {
                phase: Phase::HalfOpen { .. },
                ..
            })
        )
    }

    /// The permit without its breaker, to be reported elsewhere.
    #[inline]
    pub fn into_token(self) -> Token<W::Bits> {
        Token(self.end().1)
    }

    /// Takes the permit apart; it will not be cancelled.
    #[inline]
    fn end(self) -> (&'a Breaker<C, W, T, O>, Ticket<W::Bits>) {
        let permit = ManuallyDrop::new(self);
        (permit.breaker, permit.ticket)
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> Drop for Permit<'_, C, W, T, O> {
    #[inline]
    fn drop(&mut self) {
        self.breaker.observer.cancelled();
        self.breaker.put_back(self.ticket);
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> fmt::Debug for Permit<'_, C, W, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}
