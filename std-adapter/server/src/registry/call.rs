//! Calls of a key.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use atomic_breaker::{AnyError, Clock, State, Tally};

use super::{KeyedObserver, KeyedPermit, Registry};
use crate::parts::{run, run_async};
use crate::{Rejection, Report, ServiceError};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Asks for the right to one call of a key. From an `Arc`, [`KeyedPermit::acquire`] gives an owned one.
    pub fn acquire(&self, key: K) -> Result<KeyedPermit<&Self>, Rejection> {
        KeyedPermit::acquire(self, key)
    }

    /// Runs an operation unless the breaker of the key rejects it. `Err` is a failure of weight 1, whose text is kept
    /// if it opens the breaker; a panic counts as one.
    pub fn call<V, E: fmt::Display>(
        &self,
        key: K,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        self.call_with(key, &AnyError, operation)
    }

    /// [`call`](Self::call) with another [`Report`] of the result: a closure, a classifier of HTTP responses, or
    /// [`AtOnce`](crate::AtOnce).
    pub fn call_with<'a, V, E, R: Report<V, E>>(
        &'a self,
        key: K,
        report: &R,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<R::Output<KeyedPermit<&'a Self>>, ServiceError<E>> {
        let permit = self.acquire(key)?;
        run(permit, report, operation)
    }

    /// [`call`](Self::call) for futures, with any runtime or none. Dropping the future cancels the call; put a time
    /// limit inside, where it counts as a failure.
    pub async fn call_async<V, E, F>(
        &self,
        key: K,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        E: fmt::Display,
        F: Future<Output = Result<V, E>>,
    {
        self.call_async_with(key, &AnyError, operation).await
    }

    /// [`call_async`](Self::call_async) with another [`Report`] of the result.
    pub async fn call_async_with<'a, V, E, R, F>(
        &'a self,
        key: K,
        report: &R,
        operation: impl FnOnce() -> F,
    ) -> Result<R::Output<KeyedPermit<&'a Self>>, ServiceError<E>>
    where
        R: Report<V, E>,
        F: Future<Output = Result<V, E>>,
    {
        let permit = self.acquire(key)?;
        run_async(permit, report, operation).await
    }

    /// Returns the state of a key; asking does not count as using the key.
    pub fn state(&self, key: &K) -> State {
        self.entry(key)
            .map_or(State::Closed, |entry| entry.snapshot.state())
    }
}
