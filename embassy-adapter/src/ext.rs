//! Breaker methods that use embassy's timers.

use atomic_breaker::wait::{self, Limit, Prober, Retry, TimeLimit, Timed, TryLimit};
use atomic_breaker::{AnyBreaker, CallError, Permit, Unguarded};

use crate::clock::EmbassyTimer;

/// Time limits, waiting, retries and pings for every breaker: the functions of [`wait`](atomic_breaker::wait) with an
/// [`EmbassyTimer`] as methods.
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
///
/// # One breaker, once
///
/// Each of these is a call through the breaker, except [`ready`](Self::ready). A call inside a call is counted twice, and
/// while half-open the outer one is the probe and the inner one is rejected, so the breaker never closes again. That
/// happens if one breaker is in a [guard](crate::Guarded) *and* around the driver: guard the bus, or the calls of the
/// driver, or use a breaker for each. Around a guarded bus [`retry`](Self::retry) does not compile, the others do.
pub trait BreakerExt: AnyBreaker + Sized {
    /// Makes a call that takes no longer than `limit`: [`wait::call_timeout`]. `limit` is a duration, from
    /// embassy or `core`, or a [`TimeLimit`] that says what a timeout counts as; `MAX` means no limit. With a classifier:
    /// [`wait::call_timeout_with`].
    ///
    /// # Errors
    /// [`CallError::Rejected`] when the operation was not run; [`CallError::Failed`] with
    /// [`Timed::TimedOut`] or with the operation's own error.
    fn call_timeout<V, E, F>(
        &self,
        limit: impl IntoTimeLimit,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::call_timeout(self, EmbassyTimer, limit.into_time_limit(), operation)
    }

    /// Sleeps until the breaker can admit the caller: [`wait::ready`]. Another caller may be faster;
    /// [`acquire_when_ready`](Self::acquire_when_ready) keeps waiting until it has a permit.
    ///
    /// With a [`StateWatch`](crate::StateWatch) as observer it wakes when the state changes; without
    /// one it looks at the state once a second.
    fn ready(&self) -> impl Future<Output = ()> {
        wait::ready(self, EmbassyTimer)
    }

    /// Sleeps until the breaker admits the caller: [`wait::acquire`], which also gives permits that own their handle.
    fn acquire_when_ready(&self) -> impl Future<Output = Permit<&Self>> {
        wait::acquire(self, EmbassyTimer)
    }

    /// Makes a call that is retried as the [`Retry`] says: [`wait::retry`]. Waits while the breaker would
    /// reject, and gives up at once while it is forced open. With a classifier: [`wait::retry_with`]. A limit for each
    /// try is part of the `Retry`: [`try_limit`](Retry::try_limit), not a `call_timeout` inside, which does not compile.
    ///
    /// # Errors
    /// The error of the last try, a [`Timed<E>`](Timed) with a `try_limit`; the rejection if none was made.
    ///
    /// ```
    /// use atomic_breaker_embassy::{Breaker, BreakerExt, Config, EmbassyClock, Retry};
    /// use core::time::Duration;
    ///
    /// static RADIO: Breaker = Breaker::new(Config::new(), EmbassyClock);
    ///
    /// # async fn send(_: &[u8]) -> Result<(), ()> { Ok(()) }
    /// async fn report(reading: &[u8]) -> bool {
    ///     let policy = Retry::new().try_limit(Duration::from_millis(200));
    ///     RADIO.retry(policy, || send(reading)).await.is_ok()
    /// }
    /// # let _ = report(&[]);
    /// ```
    fn retry<V, E: Unguarded, L: TryLimit>(
        &self,
        policy: Retry<L>,
        operation: impl AsyncFnMut() -> Result<V, E>,
    ) -> impl Future<Output = Result<V, CallError<L::Error<E>>>> {
        wait::retry(self, EmbassyTimer, policy, operation)
    }

    /// Runs forever and pings the resource while the breaker is open: [`Prober::run`]. Run it in a task of
    /// its own.
    ///
    /// ```
    /// use atomic_breaker_embassy::{Breaker, BreakerExt, Config, EmbassyClock, Prober};
    /// use core::time::Duration;
    /// # struct Radio;
    /// # impl Radio { async fn ping(&mut self) -> Result<(), ()> { Ok(()) } }
    ///
    /// static RADIO: Breaker =
    ///     Breaker::new(Config::new().open_for(Duration::from_secs(600)), EmbassyClock);
    ///
    /// async fn keep_probing(mut radio: Radio) -> ! {
    ///     let prober = Prober::every(Duration::from_secs(5));
    ///     RADIO.run_prober(prober, async || radio.ping().await).await
    /// }
    /// # let _ = keep_probing(Radio);
    /// ```
    #[expect(
        async_fn_in_trait,
        reason = "whether it is `Send` is for the executor's user to find out"
    )]
    async fn run_prober<V, E>(&self, prober: Prober, ping: impl AsyncFnMut() -> Result<V, E>) -> ! {
        prober.run(self, EmbassyTimer, ping).await
    }
}

impl<B: AnyBreaker> BreakerExt for B {}

/// Conversion into a [`TimeLimit`]: from a duration of embassy or `core`, for example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a time limit",
    note = "give a `Duration` of `embassy_time` or `core::time`, or a `TimeLimit`"
)]
pub trait IntoTimeLimit {
    /// A duration of `core`, or a [`TimeLimit`].
    type Limit: Limit;

    /// The limit.
    fn into_time_limit(self) -> Self::Limit;
}

impl IntoTimeLimit for TimeLimit {
    type Limit = Self;

    fn into_time_limit(self) -> Self {
        self
    }
}

impl IntoTimeLimit for core::time::Duration {
    type Limit = Self;

    fn into_time_limit(self) -> Self {
        self
    }
}

/// Longer limits, of over a hundred years, count as no limit.
const LONGEST_S: u64 = u32::MAX as u64;

impl IntoTimeLimit for embassy_time::Duration {
    type Limit = core::time::Duration;

    fn into_time_limit(self) -> core::time::Duration {
        if self.as_secs() > LONGEST_S {
            // No limit.
            return core::time::Duration::MAX;
        }
        // Rounded up to milliseconds; if it was made from milliseconds, exactly those.
        let ms = self.as_millis();
        let ms = ms + u64::from(Self::from_millis(ms) < self);
        core::time::Duration::from_millis(ms)
    }
}
