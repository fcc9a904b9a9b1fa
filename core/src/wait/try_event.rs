// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a retry, and who is notified of them.

use core::fmt;
use core::time::Duration;

use super::Timer;
use crate::outcome::{Failure, Outcome};

/// The event that followed when a try had failed and a retry was considered. Each failed try leads to one of these,
/// except [`Recovered`](Self::Recovered), which comes in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RetryEvent {
    /// The request was sent again.
    Sent,
    /// A request succeeded at a retry: retries that were worth it.
    Recovered,
    /// The budget had no token left.
    NoToken,
    /// The pause would not have ended before the deadline.
    NoTime,
    /// The try was the last one that is allowed.
    NoTryLeft,
    /// The request may not be sent twice.
    NotRepeatable,
    /// The breaker rejected the retry.
    Rejected,
    /// The caller left before the retry was sent; or, with a `ClientGuard`, before a try that went on without it had failed.
    Cancelled,
}

impl RetryEvent {
    /// Every event, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Sent,
        Self::Recovered,
        Self::NoToken,
        Self::NoTime,
        Self::NoTryLeft,
        Self::NotRepeatable,
        Self::Rejected,
        Self::Cancelled,
    ];

    /// The name in metrics: `sent`, `recovered`, `no_token`, `no_time`, `no_try_left`, `not_repeatable`, `rejected`,
    /// `cancelled`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Recovered => "recovered",
            Self::NoToken => "no_token",
            Self::NoTime => "no_time",
            Self::NoTryLeft => "no_try_left",
            Self::NotRepeatable => "not_repeatable",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RetryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A try that failed, and what followed it; or a retry that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct TryEvent {
    /// The number of the try, from 1.
    pub number: u32,
    /// The outcome of the try: a failure; ignored, if the server only said when to try again; a success, if it recovered.
    pub outcome: Outcome,
    /// The time for which the server asked the caller to wait, such as by a `Retry-After`.
    pub hint: Option<Duration>,
    /// The event that followed.
    pub event: RetryEvent,
    /// The pause before the next try, with the waits for a breaker that rejected it; 0 if none was planned.
    pub pause: Duration,
    /// The number of rejections that were waited for in this pause.
    pub waits: u32,
    /// Thousandths of tokens that are left in the budget, if there is one.
    pub millitokens: Option<u32>,
}

impl TryEvent {
    /// An event; the other fields are 0 or `None`.
    pub const fn new(number: u32, outcome: Outcome, event: RetryEvent) -> Self {
        Self {
            number,
            outcome,
            hint: None,
            event,
            pause: Duration::ZERO,
            waits: 0,
            millitokens: None,
        }
    }
}

/// `try 1, a failure: sent again after 80ms, 99 tokens left`
impl fmt::Display for TryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Success => "a success",
            Outcome::Failure(_) => "a failure",
            Outcome::Ignored => "ignored",
        };
        write!(f, "try {}, {outcome}: ", self.number)?;
        match self.event {
            RetryEvent::Sent => write!(f, "sent again after {:?}", self.pause)?,
            RetryEvent::Recovered => f.write_str("recovered")?,
            RetryEvent::NoToken => f.write_str("no token left")?,
            RetryEvent::NoTime => f.write_str("no time left")?,
            RetryEvent::NoTryLeft => f.write_str("no try left")?,
            RetryEvent::NotRepeatable => f.write_str("may not be sent twice")?,
            RetryEvent::Rejected => f.write_str("the breaker rejected the next one")?,
            RetryEvent::Cancelled => f.write_str("its caller left")?,
        }
        match self.millitokens {
            Some(left) => write!(f, ", {} tokens left", left / 1_000),
            None => Ok(()),
        }
    }
}

/// The observer of a [`Retry`](super::Retry): `()`, which observes nothing and costs nothing, or a closure that takes each
/// [`TryEvent`]. No other type implements it.
pub trait TryObserver {
    /// The memory between two tries.
    #[doc(hidden)]
    type Course: TryCourse;

    #[doc(hidden)]
    fn begin(self) -> Self::Course;
}

impl TryObserver for () {
    type Course = ();

    fn begin(self) {}
}

impl<F: FnMut(&TryEvent)> TryObserver for F {
    type Course = ObservedTries<F>;

    fn begin(self) -> ObservedTries<F> {
        ObservedTries {
            observer: self,
            pending: None,
        }
    }
}

/// The events of a retry that its observer is notified of.
#[doc(hidden)]
pub trait TryCourse {
    /// A try has failed, and another one is to follow.
    fn failed(&mut self, number: u32, failure: Failure, timer: &impl Timer);

    /// The next try is waited for if it would be rejected now.
    fn waits_if(&mut self, is_rejected: impl FnOnce() -> bool);

    /// Tells that the next try begins now, or why there is none.
    fn goes_on(&mut self, event: RetryEvent, timer: &impl Timer);

    /// Nothing was to follow.
    fn ends(&mut self, number: u32, outcome: Outcome, event: RetryEvent);
}

impl TryCourse for () {
    fn failed(&mut self, _: u32, _: Failure, _: &impl Timer) {}

    fn waits_if(&mut self, _: impl FnOnce() -> bool) {}

    fn goes_on(&mut self, _: RetryEvent, _: &impl Timer) {}

    fn ends(&mut self, _: u32, _: Outcome, _: RetryEvent) {}
}

/// An observer, and the try that failed last with the time then, while it is not known yet what follows.
#[derive(Debug)]
#[doc(hidden)]
pub struct ObservedTries<F: FnMut(&TryEvent)> {
    observer: F,
    pending: Option<(TryEvent, u64)>,
}

impl<F: FnMut(&TryEvent)> TryCourse for ObservedTries<F> {
    fn failed(&mut self, number: u32, failure: Failure, timer: &impl Timer) {
        let mut event = TryEvent::new(number, failure.into(), RetryEvent::Cancelled);
        event.hint = failure.min_open_time();
        self.pending = Some((event, timer.now_ms()));
    }

    fn waits_if(&mut self, is_rejected: impl FnOnce() -> bool) {
        if let Some((event, _)) = self.pending.as_mut().filter(|_| is_rejected()) {
            event.waits = event.waits.saturating_add(1);
        }
    }

    fn goes_on(&mut self, what: RetryEvent, timer: &impl Timer) {
        if let Some((mut event, failed_at)) = self.pending.take() {
            event.event = what;
            event.pause = Duration::from_millis(timer.now_ms().saturating_sub(failed_at));
            (self.observer)(&event);
        }
    }

    fn ends(&mut self, number: u32, outcome: Outcome, event: RetryEvent) {
        let mut event = TryEvent::new(number, outcome, event);
        if let Outcome::Failure(failure) = outcome {
            event.hint = failure.min_open_time();
        }
        (self.observer)(&event);
    }
}

/// Its caller has left in the pause.
impl<F: FnMut(&TryEvent)> Drop for ObservedTries<F> {
    fn drop(&mut self) {
        if let Some((event, _)) = self.pending.take() {
            (self.observer)(&event);
        }
    }
}
