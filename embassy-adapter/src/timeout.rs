//! Calls that may not take for ever.

use core::fmt;
use core::future::Future;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, CallError, Classify, Clock, Failure, Observer, Outcome, Tally};
use embassy_time::{Duration, with_timeout};

/// How long a call may take, and what it means when it takes longer. A [`Duration`] is one whose
/// time-outs weigh 1.
///
/// ```
/// use atomic_breaker_embassy::{Failure, TimeLimit};
/// use embassy_time::Duration;
///
/// // A bus that hangs is worse than a sensor that says no.
/// let limit = TimeLimit::new(Duration::from_millis(20)).counting_as(Failure::weighing(3));
/// # let _ = limit;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct TimeLimit {
    limit: Duration,
    failure: Failure,
}

impl TimeLimit {
    /// A limit; exceeding it is a failure of weight 1.
    pub const fn new(limit: Duration) -> Self {
        Self {
            limit,
            failure: Failure::new(),
        }
    }

    /// The failure that a time-out counts as.
    pub const fn counting_as(mut self, failure: Failure) -> Self {
        self.failure = failure;
        self
    }
}

impl From<Duration> for TimeLimit {
    fn from(limit: Duration) -> Self {
        Self::new(limit)
    }
}

/// The error of a call with a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Timed<E> {
    /// It took too long, and was dropped.
    TimedOut,
    /// It failed in time.
    Failed(E),
}

impl<E: fmt::Display> fmt::Display for Timed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Timed<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::TimedOut => None,
            // `Display` shows the operation's error itself, so the chain goes on below it.
            Self::Failed(error) => error.source(),
        }
    }
}

pub(crate) async fn call<R, E, F, C: Clock, W: Word, T: Tally, O: Observer>(
    breaker: &Breaker<C, W, T, O>,
    limit: TimeLimit,
    operation: impl FnOnce() -> F,
) -> Result<R, CallError<Timed<E>>>
where
    F: Future<Output = Result<R, E>>,
{
    let classify = |result: &Result<R, Timed<E>>| match result {
        Ok(_) => Outcome::Success,
        Err(Timed::TimedOut) => limit.failure.into(),
        Err(Timed::Failed(_)) => Failure::new().into(),
    };
    call_with(breaker, limit, classify, operation).await
}

pub(crate) async fn call_with<R, E, F, C: Clock, W: Word, T: Tally, O: Observer>(
    breaker: &Breaker<C, W, T, O>,
    limit: TimeLimit,
    classify: impl Classify<R, Timed<E>>,
    operation: impl FnOnce() -> F,
) -> Result<R, CallError<Timed<E>>>
where
    F: Future<Output = Result<R, E>>,
{
    let timed = || async {
        match with_timeout(limit.limit, operation()).await {
            Ok(result) => result.map_err(Timed::Failed),
            Err(_) => Err(Timed::TimedOut),
        }
    };
    breaker.call_async_with(classify, timed).await
}
