//! What embassy's timers add to a breaker.

use core::future::Future;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, CallError, Classify, Clock, Observer, Permit, Tally};

use crate::changes::Changes;
use crate::ready;
use crate::retry::{self, Retry};
use crate::timeout::{self, TimeLimit, Timed};

/// Time-outs, waiting and retries for every [`Breaker`].
///
/// ```
/// use atomic_breaker_embassy::{Breaker, BreakerExt, Config, EmbassyClock};
/// use embassy_time::Duration;
///
/// static RADIO: Breaker = Breaker::new(Config::new(), EmbassyClock);
///
/// # async fn send(_: &[u8]) -> Result<(), ()> { Ok(()) }
/// async fn report(reading: &[u8]) {
///     // Sleeps while the radio is down.
///     RADIO.ready().await;
///     let limit = Duration::from_millis(200);
///     if RADIO.call_timeout(limit, || send(reading)).await.is_err() {
///         // Keep the reading for later.
///     }
/// }
/// # let _ = report(&[]);
/// ```
pub trait BreakerExt {
    /// The breaker's clock.
    type Clock: Clock;
    /// The breaker's word.
    type Word: Word;
    /// The breaker's tally.
    type Tally: Tally;
    /// The breaker's observer.
    type Observer: Observer;

    /// The breaker itself.
    fn breaker(&self) -> &Breaker<Self::Clock, Self::Word, Self::Tally, Self::Observer>;

    /// [`Breaker::call_async`] that takes no longer than `limit`. A time-out is a failure, of weight
    /// 1 unless the [`TimeLimit`] says otherwise, and drops the future that was running. Dropping
    /// the future of the call itself cancels: nothing is counted, a probe gives its slot back.
    ///
    /// # Errors
    /// [`CallError::Rejected`] when the operation was not run; [`CallError::Failed`] with
    /// [`Timed::TimedOut`] or with the operation's own error.
    fn call_timeout<R, E, F>(
        &self,
        limit: impl Into<TimeLimit>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<R, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<R, E>>,
    {
        timeout::call(self.breaker(), limit.into(), operation)
    }

    /// [`call_timeout`](Self::call_timeout) with a classifier that says what results and time-outs
    /// mean; it decides alone.
    ///
    /// # Errors
    /// As [`call_timeout`](Self::call_timeout).
    fn call_timeout_with<R, E, F>(
        &self,
        limit: impl Into<TimeLimit>,
        classify: impl Classify<R, Timed<E>>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<R, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<R, E>>,
    {
        timeout::call_with(self.breaker(), limit.into(), classify, operation)
    }

    /// Sleeps until the breaker can admit the caller, without polling.
    ///
    /// Sleeps until the time that is left is over, and then a little longer, each caller another
    /// share of an eighth of its sleep and at most a second, so that they do not all come at once.
    /// With a [`StateWatch`](crate::StateWatch) as observer it also wakes when the state changes,
    /// with the same care; without one (or with more sleepers than it has receivers), a breaker that
    /// closes early is noticed at the end of the time, and one that is forced open is looked at once
    /// a second.
    ///
    /// Somebody else may be faster: [`acquire_when_ready`](Self::acquire_when_ready) goes on until
    /// it has a permit.
    fn ready(&self) -> impl Future<Output = ()>
    where
        Self::Observer: Changes,
    {
        ready::ready(self.breaker())
    }

    /// [`ready`](Self::ready) and [`Breaker::acquire`], until a permit is granted.
    fn acquire_when_ready(
        &self,
    ) -> impl Future<Output = Permit<'_, Self::Clock, Self::Word, Self::Tally, Self::Observer>>
    where
        Self::Observer: Changes,
    {
        ready::acquire(self.breaker())
    }

    /// [`Breaker::call_async`], again and again as the [`Retry`] says. Never tries before the
    /// breaker would admit it, and not at all while it is forced open.
    ///
    /// # Errors
    /// That of the last try.
    fn retry<R, E, F>(
        &self,
        policy: Retry,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<R, CallError<E>>>
    where
        F: Future<Output = Result<R, E>>,
    {
        retry::retry(self.breaker(), policy, operation)
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> BreakerExt for Breaker<C, W, T, O> {
    type Clock = C;
    type Word = W;
    type Tally = T;
    type Observer = O;

    fn breaker(&self) -> &Self {
        self
    }
}

impl<B: BreakerExt> BreakerExt for &B {
    type Clock = B::Clock;
    type Word = B::Word;
    type Tally = B::Tally;
    type Observer = B::Observer;

    fn breaker(&self) -> &Breaker<Self::Clock, Self::Word, Self::Tally, Self::Observer> {
        (**self).breaker()
    }
}
