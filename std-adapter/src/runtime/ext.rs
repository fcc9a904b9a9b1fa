//! Time limits, waiting, retries and pings, with tokio's timer.

use atomic_breaker::{
    AnyBreaker, CallError, Classify, Permit,
    wait::{self, Prober, Retry, TimeLimit, Timed},
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
/// The futures are `Send` if their arguments are, so they can be spawned; a permit that moves to a spawned task must
/// own its handle to the breaker:
///
/// ```
/// use atomic_breaker_std::{BreakerExt, Config, breaker};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Arc::new(breaker(Config::new()));
/// let permit = Arc::clone(&server).acquire_owned_when_ready().await;
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
    /// Makes a call that takes no longer than `limit`, a duration or a [`TimeLimit`] that says what a timeout counts
    /// as: [`wait::call_timeout`].
    ///
    /// # Errors
    /// [`CallError::Rejected`] when the operation was not run; [`CallError::Failed`] with
    /// [`Timed::TimedOut`] or with the operation's own error.
    fn call_timeout<V, E, F>(
        &self,
        limit: impl Into<TimeLimit>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::call_timeout(self, TokioTimer, limit, operation)
    }

    /// [`call_timeout`](Self::call_timeout) with a classifier that says what results and timeouts mean; it alone
    /// decides.
    ///
    /// # Errors
    /// See [`call_timeout`](Self::call_timeout).
    fn call_timeout_with<V, E, F>(
        &self,
        limit: impl Into<TimeLimit>,
        classify: impl Classify<V, Timed<E>>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::call_timeout_with(self, TokioTimer, limit, classify, operation)
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

    /// [`acquire_when_ready`](Self::acquire_when_ready) for a permit that owns its handle to the breaker, such as an
    /// `Arc`.
    fn acquire_owned_when_ready(self) -> impl Future<Output = Permit<Self>> {
        wait::acquire(self, TokioTimer)
    }

    /// Makes a call that is retried as the [`Retry`] says: [`wait::retry_fn`]. Waits while the breaker would reject,
    /// and gives up at once while it is forced open. For an operation that mutates its captures there is
    /// [`retry_mut`](Self::retry_mut).
    ///
    /// # Errors
    /// The error of the last try; the rejection if none was made.
    fn retry<V, E, F>(
        &self,
        policy: Retry,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, CallError<E>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::retry_fn(self, TokioTimer, policy, operation)
    }

    /// [`retry`](Self::retry) with a classifier that says what a result means: only a failure is retried.
    ///
    /// # Errors
    /// See [`retry`](Self::retry).
    fn retry_with<V, E, F>(
        &self,
        policy: Retry,
        classify: impl Classify<V, E>,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, CallError<E>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        wait::retry_fn_with(self, TokioTimer, policy, classify, operation)
    }

    /// [`retry`](Self::retry) for an operation that mutates its captures: [`wait::retry`]. Its future is not known to
    /// be `Send`, so await it where it is created, or spawn it on a `LocalSet`. With a classifier: [`wait::retry_with`].
    ///
    /// ```
    /// use atomic_breaker_std::{Breaker, BreakerExt, Config, Retry, breaker};
    /// use std::io;
    /// # struct Connection;
    /// # impl Connection { async fn send(&mut self, _: &[u8]) -> io::Result<()> { Ok(()) } }
    ///
    /// static DATABASE: Breaker = breaker(Config::new());
    ///
    /// async fn send(connection: &mut Connection, bytes: &[u8]) -> Option<()> {
    ///     DATABASE.retry_mut(Retry::new(), async || connection.send(bytes).await).await.ok()
    /// }
    /// # let _ = send;
    /// ```
    ///
    /// # Errors
    /// See [`retry`](Self::retry).
    fn retry_mut<V, E>(
        &self,
        policy: Retry,
        operation: impl AsyncFnMut() -> Result<V, E>,
    ) -> impl Future<Output = Result<V, CallError<E>>> {
        wait::retry(self, TokioTimer, policy, operation)
    }

    /// Runs forever and pings the resource while the breaker is open: [`Prober::run_fn`]. Run it in a task of its own.
    ///
    /// ```
    /// use atomic_breaker_std::{Breaker, BreakerExt, Config, Prober, breaker};
    /// use std::time::Duration;
    /// use tokio::net::TcpStream;
    ///
    /// static DATABASE: Breaker = breaker(Config::new().open_for(Duration::from_secs(600)));
    ///
    /// async fn keep_probing() -> ! {
    ///     let prober = Prober::every(Duration::from_secs(5));
    ///     DATABASE.run_prober(prober, || TcpStream::connect("db:5432")).await
    /// }
    /// ```
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
