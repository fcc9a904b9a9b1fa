//! Calls of a key.

use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::pin::pin;

use atomic_breaker::{AnyError, Classify, Clock, State, Tally};

use super::{KeyedObserver, KeyedPermit, Registry};
use crate::resource::{AnyPermit, Rejection, ServiceError, count_panic};

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    /// Asks for the right to one call of a key. From an `Arc`, [`KeyedPermit::acquire`] gives one that is
    /// owned.
    ///
    /// # Errors
    /// [`Rejection`] says how long to wait, and why it opened.
    pub fn acquire(&self, key: K) -> Result<KeyedPermit<&Self>, Rejection> {
        KeyedPermit::acquire(self, key)
    }

    /// Runs an operation unless the breaker of the key rejects it. `Err` is a failure of weight 1; a panic
    /// counts as one.
    ///
    /// # Errors
    /// [`ServiceError::Rejected`] when the operation was not run, or its own error.
    pub fn call<V, E>(
        &self,
        key: K,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        self.call_with(key, AnyError, operation)
    }

    /// [`call`](Self::call) with a classifier that says what the result means.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a classifier is mostly a closure, made for the call"
    )]
    pub fn call_with<V, E>(
        &self,
        key: K,
        classify: impl Classify<V, E>,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        let mut permit = Some(self.acquire(key).map_err(ServiceError::Rejected)?);
        let result = count_panic(&mut permit, operation);
        if let Some(permit) = permit {
            permit.report(classify.classify(&result));
        }
        result.map_err(ServiceError::Failed)
    }

    /// [`call`](Self::call) for futures, by any runtime or none. A dropped future cancels; a time limit
    /// belongs inside, where it counts as a failure.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async<V, E, F>(
        &self,
        key: K,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        F: Future<Output = Result<V, E>>,
    {
        self.call_async_with(key, AnyError, operation).await
    }

    /// [`call_async`](Self::call_async) with a classifier that says what the result means.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async_with<V, E, F>(
        &self,
        key: K,
        classify: impl Classify<V, E>,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        F: Future<Output = Result<V, E>>,
    {
        let mut permit = Some(self.acquire(key).map_err(ServiceError::Rejected)?);
        let mut future = pin!(count_panic(&mut permit, operation));
        let result =
            poll_fn(|context| count_panic(&mut permit, || future.as_mut().poll(context))).await;
        if let Some(permit) = permit {
            permit.report(classify.classify(&result));
        }
        result.map_err(ServiceError::Failed)
    }

    /// The state of a key, without counting as a use of it.
    pub fn state(&self, key: &K) -> State {
        self.entry(key)
            .map_or(State::Closed, |entry| entry.snapshot.state())
    }
}
