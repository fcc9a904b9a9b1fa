// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of a guard.

use std::fmt::Display;

use atomic_breaker::AnyError;
#[cfg(feature = "tokio")]
use atomic_breaker::{
    Classify, Unguarded,
    wait::{Retry, TimeLimit, Timed, TryLimit, TryObserver},
};

use super::grants::Grants;
use super::held::{GuardPermit, guarded};
#[cfg(feature = "tokio")]
use super::waiting::{self, Repeat};
use crate::permit::{AnyPermit, Rejection, Report, ServiceError};

/// A guard of calls: a [`Resource`](crate::Resource), or a [`KeyGuard`](crate::KeyGuard) of a registry. `PAYMENTS.call(..)` and
/// `HOSTS.of("a.example").call(..)` are methods of this trait.
///
/// ```
/// use atomic_breaker_server::{Config, Guard, Registry, Resource, breaker};
/// use std::{io, sync::LazyLock};
///
/// static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
/// static HOSTS: LazyLock<Registry<&str>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
///
/// fn twice(guard: impl Guard) -> bool {
///     let call = || Ok::<_, io::Error>(());
///     guard.clone().call(call).is_ok() && guard.call(call).is_ok()
/// }
/// assert!(twice(&PAYMENTS) && twice(HOSTS.of("a.example")));
/// ```
///
/// The methods take a handle that is cheap to clone: a reference to the resource, and a key with a reference to its
/// registry. A resource in an `Arc` is borrowed, and so is a registry. To own the `Arc` instead, for a permit that goes to
/// another task or into the body of a response, use [`KeyGuard::new`](crate::KeyGuard::new), or [`GuardPermit::acquire`] and then
/// [`run_async`](AnyPermit::run_async).
///
/// # Generic code that is spawned
///
/// Today's compiler cannot know whether the futures of a `G: Guard` may move between threads. A permit's future it knows:
///
/// ```
/// use atomic_breaker_server::{AnyError, AnyPermit, Config, Guard, Resource, ServiceError, breaker};
/// use std::io;
///
/// async fn fetch(guard: impl Guard) -> Result<u8, ServiceError<io::Error>> {
///     // In the place of `guard.call_async(..)`.
///     let permit = guard.acquire()?;
///     permit.run_async(AnyError, || async { Ok(7) }).await.map_err(ServiceError::Failed)
/// }
///
/// fn spawn(_: impl Future<Output: Send> + Send + 'static) {}
///
/// static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
/// spawn(fetch(&PAYMENTS));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not guard calls",
    note = "pass a reference to a `Resource`, or `registry.of(key)`"
)]
pub trait Guard: Grants + Clone {
    /// Asks for the right to one call.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a permit that is handed through memory costs more than all else here"
    )]
    fn acquire(self) -> Result<GuardPermit<Self>, Rejection> {
        GuardPermit::acquire(self)
    }

    /// Runs an operation unless the breaker rejects it. `Err` is a failure of weight 1, whose text is kept if it opens the
    /// breaker; a panic counts as one.
    fn call<V, E: Display>(
        self,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        self.call_with(AnyError, operation)
    }

    /// [`call`](Self::call) with another [`Report`] of the result: a closure, a classifier of HTTP responses, or
    /// [`AtOnce`](crate::AtOnce).
    fn call_with<V, E, R: Report<V, E>>(
        self,
        report: R,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<R::Output<GuardPermit<Self>>, ServiceError<E>> {
        let (permit, result) = self.acquire()?.judged(operation);
        let result = report.report(permit, result);
        result.map_err(ServiceError::Failed)
    }

    /// [`call`](Self::call) for futures, with any runtime or none. Dropping the future cancels the call; put a time limit
    /// inside, where it counts as a failure.
    fn call_async<V, E, F>(
        self,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, ServiceError<E>>>
    where
        E: Display,
        F: Future<Output = Result<V, E>>,
    {
        guarded(self, AnyError, operation)
    }

    /// [`call_async`](Self::call_async) with another [`Report`] of the result, which may take the permit along, as the body
    /// of a response does.
    fn call_async_with<V, E, R, F>(
        self,
        report: R,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<R::Output<GuardPermit<Self>>, ServiceError<E>>>
    where
        R: Report<V, E>,
        F: Future<Output = Result<V, E>>,
    {
        guarded(self, report, operation)
    }

    /// [`call_async`](Self::call_async) that takes no longer than `limit`: a duration, or a [`TimeLimit`] that says what a
    /// timeout counts as. By default a timeout is a failure of weight 1 with words such as "timed out after 500ms". A
    /// timeout drops the operation.
    #[cfg(feature = "tokio")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
    fn call_timeout<V, E, F>(
        self,
        limit: impl Into<TimeLimit>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, ServiceError<Timed<E>>>>
    where
        E: Display,
        F: Future<Output = Result<V, E>>,
    {
        waiting::call_timeout(self, limit.into(), operation)
    }

    /// Sleeps until the breaker admits the caller, as described in [`wait`](crate::wait); a
    /// [`StateWatch`](crate::StateWatch) as the observer of a resource's breaker wakes it when the state changes. In [shadow
    /// mode](crate::Enforcement) calls pass, so this does not wait.
    ///
    /// A waiting caller is not rejected, so the observer is not notified; a try may be rejected only if another thread
    /// takes the slot at the same moment, or while traffic returns.
    ///
    /// Waits for as long as it takes, even while the breaker is forced open: put a time limit around it. Dropping the
    /// future changes nothing, as it holds no slot.
    ///
    /// ```
    /// use atomic_breaker_server::{AnyPermit, Config, Guard, Outcome, Resource, breaker};
    /// use std::time::Duration;
    /// use tokio::time::{error::Elapsed, timeout};
    ///
    /// static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Elapsed> {
    /// let permit = timeout(Duration::from_secs(30), PAYMENTS.acquire_when_ready()).await?;
    /// // The call.
    /// permit.report(Outcome::Success);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Keys
    ///
    /// Callers that wait for a key are not woken: if it closes early, they notice within a second, and then arrive spread
    /// over up to another second.
    ///
    /// - A key without a slot is closed, and so ready at once.
    /// - A caller that is rejected because the registry is [full](crate::WhenFull::Reject) looks for room again after a
    ///   tenth of a second, or up to 1.1 seconds if it has waited for long.
    /// - Waiting does not count as using the key: a key that callers wait for is evicted like any other, and its waiters
    ///   are then ready.
    #[cfg(feature = "tokio")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
    fn acquire_when_ready(self) -> impl Future<Output = GuardPermit<Self>> {
        waiting::acquire_when_ready(self)
    }

    /// [`call_async`](Self::call_async), repeated as the [`Retry`] says: an error is a failure and is retried. Waits while
    /// the breaker would reject. Gives up when the tries are used up or the time is over, and at once if the breaker is
    /// forced open, or open for longer than the time left.
    ///
    /// If only a share of the rejections is [enforced](crate::Enforcement), it is decided once for all tries whether they
    /// are; calls that pass do not wait.
    ///
    /// A limit for each try is part of the `Retry`: [`try_limit`](Retry::try_limit), not a
    /// [`call_timeout`](Self::call_timeout) inside, which does not compile.
    #[cfg(feature = "tokio")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
    fn retry<V, E, F, L>(
        self,
        policy: Retry<L, impl TryObserver>,
        operation: impl Repeat<F>,
    ) -> impl Future<Output = Result<V, ServiceError<L::Error<E>>>>
    where
        E: Unguarded,
        L: TryLimit<Error<E>: Display>,
        F: Future<Output = Result<V, E>>,
    {
        waiting::retry(self, AnyError, policy, operation)
    }

    /// [`retry`](Self::retry) with a classifier that says what a result means, both to the breaker and to the retry: only
    /// a failure is retried.
    #[cfg(feature = "tokio")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
    fn retry_with<V, E, F, L>(
        self,
        classify: impl Classify<V, L::Error<E>>,
        policy: Retry<L, impl TryObserver>,
        operation: impl Repeat<F>,
    ) -> impl Future<Output = Result<V, ServiceError<L::Error<E>>>>
    where
        L: TryLimit<Error<E>: Display>,
        F: Future<Output = Result<V, E>>,
    {
        waiting::retry(self, classify, policy, operation)
    }
}
