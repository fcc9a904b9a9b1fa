//! Time limits, waiting, retries and pings, with tokio's timer.

use atomic_breaker::{
    AnyBreaker, CallError, Permit, Unguarded,
    wait::{self, Limit, Prober, Retry, Timed, TryLimit},
};

use super::TokioTimer;

/// Time limits, waiting, retries and pings for every breaker, with tokio's timer: the functions of
/// [`wait`](atomic_breaker::wait) as methods.
///
/// ```
/// use atomic_breaker_std::{Breaker, BreakerExt, Config, Retry, breaker};
/// use std::time::Duration;
/// use tokio::net::TcpStream;
///
/// static DATABASE: Breaker = breaker(Config::new());
///
/// async fn connect() -> Option<TcpStream> {
///     let limit = Duration::from_millis(500);
///     DATABASE.call_timeout(limit, || TcpStream::connect("db:5432")).await.ok()
/// }
///
/// // Three tries, with pauses between them; waits while the breaker would reject.
/// async fn connect_at_last() -> Option<TcpStream> {
///     DATABASE.retry(Retry::new(), || TcpStream::connect("db:5432")).await.ok()
/// }
/// ```
///
/// The futures are `Send` if their arguments are, so they can be spawned. What is missing here are functions of
/// [`wait`](atomic_breaker::wait): calls with a classifier, retries of an operation that mutates its captures, and a
/// permit that owns its handle to the breaker, so that it can move to a spawned task:
///
/// ```
/// use atomic_breaker_std::{Config, TokioTimer, breaker, wait};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Arc::new(breaker(Config::new()));
/// let permit = wait::acquire(Arc::clone(&server), TokioTimer).await;
/// let call = tokio::spawn(async move {
///     // The call. An aborted task drops its permit, which cancels it.
///     permit.failure()
/// });
/// call.await.unwrap();
/// assert_eq!(server.snapshot().failures(), 1);
/// # }
/// ```
///
/// Each of these is a call through the breaker, so do not nest them: a call inside a call through the same breaker asks
/// twice and counts twice, and while half-open the outer call holds the probe slot, so the inner one is rejected.
pub trait BreakerExt: AnyBreaker + Sized {
    /// Makes a call that takes no longer than `limit`, a duration or a [`TimeLimit`](wait::TimeLimit) that says what a
    /// timeout counts as: [`wait::call_timeout`]. With a classifier: [`wait::call_timeout_with`].
    fn call_timeout<V, E, F>(
        &self,
        limit: impl Limit,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::call_timeout(self, TokioTimer, limit, operation)
    }

    /// Sleeps until the breaker can admit the caller: [`wait::ready`]. Another caller may be faster;
    /// [`acquire_when_ready`](Self::acquire_when_ready) keeps waiting until it has a permit.
    ///
    /// With a [`StateWatch`](crate::StateWatch) as observer it wakes when the state changes; without one it
    /// looks at the state once a second.
    fn ready(&self) -> impl Future<Output = ()> {
        wait::ready(self, TokioTimer)
    }

    /// Sleeps until the breaker admits the caller: [`wait::acquire`].
    fn acquire_when_ready(&self) -> impl Future<Output = Permit<&Self>> {
        wait::acquire(self, TokioTimer)
    }

    /// Makes a call that is retried as the [`Retry`] says: [`wait::retry_fn`]. Waits while the breaker would reject,
    /// and gives up at once while it is forced open. With a classifier: [`wait::retry_fn_with`]; for an operation that
    /// mutates its captures: [`wait::retry`], whose future is not known to be `Send`. A limit for each try is part of
    /// the `Retry`: [`try_limit`](Retry::try_limit), not a `call_timeout` inside, which does not compile.
    fn retry<V, E: Unguarded, F, L: TryLimit>(
        &self,
        policy: Retry<L>,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, CallError<L::Error<E>>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::retry_fn(self, TokioTimer, policy, operation)
    }

    /// Runs forever and pings the resource while the breaker is open: [`Prober::run_fn`]. Run it in a task of its own.
    #[expect(
        async_fn_in_trait,
        reason = "`!` cannot be named otherwise; whether it is `Send` is up to the ping"
    )]
    async fn run_prober<V, E, F>(&self, prober: Prober, ping: impl FnMut() -> F) -> !
    where
        F: Future<Output = Result<V, E>>,
    {
        prober.run_fn(self, TokioTimer, ping).await
    }
}

impl<B: AnyBreaker> BreakerExt for B {}
