//! The right to one call: reported once, given back when dropped.

use core::fmt;
use core::mem::ManuallyDrop;

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::observer::Observer;
use crate::outcome::{AnyError, Classify, Failure, Outcome};
use crate::state::State;
use crate::tally::Tally;
use crate::token::{Ticket, Token};
use crate::word::{self, NativeWord, Peek, Word};

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
    pub(crate) breaker: &'a Breaker<C, W, T, O>,
    pub(crate) ticket: Ticket<W::Bits>,
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
        Circuit::decode(self.ticket.granted).is_ok_and(|seen| seen.state() == State::HalfOpen)
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
