//! Waiting for a resource and retrying, with tokio's timer.

use std::fmt;

use atomic_breaker::{
    AnyBreaker, AnyError, Classify, Clock, Unguarded,
    wait::{Retry, TimeLimit, Timed, TryLimit},
};

use super::{AnyResource, Resource, ResourcePermit};
use crate::admitted::{self, Entrance};
use crate::{Enforcement, Rejection, ServiceError};

impl<B: AnyBreaker> Resource<B> {
    /// Sleeps until the breaker admits the caller, as described in [`wait`](crate::wait); a
    /// [`StateWatch`](crate::StateWatch) wakes it when the state changes. In [shadow mode](Enforcement) calls pass, so
    /// this does not wait. From an `Arc`, [`ResourcePermit::acquire_when_ready`] gives an owned permit.
    ///
    /// A waiting caller is not rejected, so the observer is not notified; a try may be rejected only if another thread
    /// takes the slot at the same moment, or while traffic returns.
    ///
    /// Waits for as long as it takes, even while the breaker is forced open: put a time limit around it. Dropping the
    /// future changes nothing, as it holds no slot.
    ///
    /// ```
    /// use atomic_breaker_server::{AnyPermit, Config, Outcome, Resource, breaker};
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
    pub fn acquire_when_ready(&self) -> impl Future<Output = ResourcePermit<&Self>> {
        ResourcePermit::acquire_when_ready(self)
    }

    /// [`call_async`](Self::call_async), repeated as the [`Retry`] says: an error is a failure and is retried. Waits
    /// while the breaker would reject. Gives up when the tries are used up or the time is over, and at once if the
    /// breaker is forced open, or open for longer than the time left.
    ///
    /// If only a share of the rejections is [enforced](Self::enforcement), it is decided once for all tries whether
    /// they are; calls that pass do not wait.
    ///
    /// A limit for each try is part of the `Retry`: [`try_limit`](Retry::try_limit), not a
    /// [`call_timeout`](Self::call_timeout) inside, which does not compile.
    pub fn retry<V, E, F, L>(
        &self,
        policy: Retry<L>,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, ServiceError<L::Error<E>>>>
    where
        E: Unguarded,
        L: TryLimit<Error<E>: fmt::Display>,
        F: Future<Output = Result<V, E>>,
    {
        self.retry_with(policy, AnyError, operation)
    }

    /// [`retry`](Self::retry) with a classifier that says what a result means, both to the breaker and to the retry:
    /// only a failure is retried.
    pub fn retry_with<V, E, F, L>(
        &self,
        policy: Retry<L>,
        classify: impl Classify<V, L::Error<E>>,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, ServiceError<L::Error<E>>>>
    where
        L: TryLimit<Error<E>: fmt::Display>,
        F: Future<Output = Result<V, E>>,
    {
        admitted::retry(Way(self), policy, classify, operation)
    }

    /// [`call_async`](Self::call_async) that takes no longer than `limit`: a duration, or a [`TimeLimit`] that says
    /// what a timeout counts as. By default a timeout is a failure of weight 1 with words such as "timed out after
    /// 500ms". A timeout drops the operation.
    pub async fn call_timeout<V, E, F>(
        &self,
        limit: impl Into<TimeLimit>,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<Timed<E>>>
    where
        E: fmt::Display,
        F: Future<Output = Result<V, E>>,
    {
        let permit = self.acquire()?;
        admitted::run_within(permit, limit.into(), operation).await
    }
}

impl<H: AnyResource + Clone> ResourcePermit<H> {
    /// [`Resource::acquire_when_ready`] for a permit that owns its handle to the resource.
    pub async fn acquire_when_ready(handle: H) -> Self {
        admitted::acquire_when_ready(Way(handle)).await
    }
}

/// The way to a resource, for a waiting caller.
struct Way<H>(H);

impl<H: AnyResource + Clone> Entrance for Way<H> {
    type Permit = ResourcePermit<H>;
    type Awaited = H::Breaker;

    fn awaited(&self) -> &H::Breaker {
        &self.0.breaker
    }

    fn enforcement(&self) -> &Enforcement {
        &self.0.enforcement
    }

    fn random(&self) -> u32 {
        self.awaited().as_breaker().clock().random()
    }

    fn admit(&self, random: impl Fn() -> u32) -> Result<Self::Permit, Rejection> {
        ResourcePermit::acquire_by(self.0.clone(), |_| random())
    }
}
