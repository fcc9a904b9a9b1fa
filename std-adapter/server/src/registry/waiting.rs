//! Waiting for a key and retrying, with tokio's timer.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use atomic_breaker::{
    AnyError, Classify, Clock, Snapshot, State, Tally, Unguarded,
    wait::{Awaited, Retry, TimeLimit, Timed, TryLimit},
};

use super::insertion::COME_BACK_IN;
use super::whole::Place;
use super::{AnyRegistry, KeyedObserver, KeyedPermit, Registry, WhenFull};
use crate::{Enforcement, Rejection, ServiceError, parts, parts::Entrance};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// [`Resource::acquire_when_ready`](crate::Resource::acquire_when_ready) for a key. Callers that wait for a key are
    /// not woken: if it closes early, they notice within a second, and then arrive spread over up to another second.
    /// From an `Arc`, [`KeyedPermit::acquire_when_ready`] gives an owned permit.
    ///
    /// - A key without a slot is closed, and so ready at once.
    /// - A caller that is rejected because the registry is [full](WhenFull::Reject) looks for room again after a tenth
    ///   of a second, or up to 1.1 seconds if it has waited for long.
    /// - Waiting does not count as using the key: a key that callers wait for is evicted like any other, and its
    ///   waiters are then ready.
    pub fn acquire_when_ready(&self, key: K) -> impl Future<Output = KeyedPermit<&Self>> {
        KeyedPermit::acquire_when_ready(self, key)
    }

    /// [`Resource::retry`](crate::Resource::retry) for a key: [`call_async`](Self::call_async), repeated.
    pub fn retry<V, E, F, L>(
        &self,
        key: K,
        policy: Retry<L>,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, ServiceError<L::Error<E>>>>
    where
        E: Unguarded,
        L: TryLimit<Error<E>: fmt::Display>,
        F: Future<Output = Result<V, E>>,
    {
        self.retry_with(key, policy, AnyError, operation)
    }

    /// [`retry`](Self::retry) with a classifier, as [`Resource::retry_with`](crate::Resource::retry_with) has.
    pub fn retry_with<V, E, F, L>(
        &self,
        key: K,
        policy: Retry<L>,
        classify: impl Classify<V, L::Error<E>>,
        operation: impl FnMut() -> F,
    ) -> impl Future<Output = Result<V, ServiceError<L::Error<E>>>>
    where
        L: TryLimit<Error<E>: fmt::Display>,
        F: Future<Output = Result<V, E>>,
    {
        parts::retry(
            Way {
                registry: self,
                key,
            },
            policy,
            classify,
            operation,
        )
    }

    /// [`Resource::call_timeout`](crate::Resource::call_timeout) for a key: [`call_async`](Self::call_async) with a time
    /// limit.
    pub async fn call_timeout<V, E, F>(
        &self,
        key: K,
        limit: impl Into<TimeLimit>,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<Timed<E>>>
    where
        E: fmt::Display,
        F: Future<Output = Result<V, E>>,
    {
        let permit = self.acquire(key)?;
        parts::run_within(permit, limit.into(), operation).await
    }

    /// The snapshot for a key without a slot.
    fn snapshot_of_absent(&self) -> Snapshot {
        if self.when_full == WhenFull::Pass || !self.is_known_to_be_full() {
            return Snapshot::new(State::Closed);
        }
        match self.when_full {
            WhenFull::Share => self.breaker(&self.slots[self.capacity()], ()).snapshot(),
            WhenFull::Pass | WhenFull::Reject => Snapshot::new(State::Open).with_wait(COME_BACK_IN),
        }
    }
}

impl<H: AnyRegistry + Clone> KeyedPermit<H> {
    /// [`Registry::acquire_when_ready`] for a permit that owns its handle to the registry.
    pub async fn acquire_when_ready(handle: H, key: H::Key) -> Self {
        let registry = handle;
        parts::acquire_when_ready(Way { registry, key }).await
    }
}

/// The way to a key, for a waiting caller.
struct Way<H: AnyRegistry> {
    registry: H,
    key: H::Key,
}

impl<H: AnyRegistry> Awaited for Way<H> {
    /// The place of the key, and its word.
    type Epoch = Option<(Place, u64)>;

    fn epoch(&self) -> Self::Epoch {
        let registry = &*self.registry;
        let (place, slot) = registry.find(&self.key)?;
        Some((place, registry.breaker(slot, ()).epoch()))
    }

    fn snapshot(&self) -> Snapshot {
        let registry = &*self.registry;
        registry
            .entry(&self.key)
            .map_or_else(|| registry.snapshot_of_absent(), |entry| entry.snapshot)
    }

    fn entropy(&self) -> u32 {
        self.registry.clock.entropy()
    }
}

impl<H: AnyRegistry + Clone> Entrance for Way<H> {
    type Permit = KeyedPermit<H>;
    type Awaited = Self;

    fn awaited(&self) -> &Self {
        self
    }

    fn enforcement(&self) -> &Enforcement {
        &self.registry.enforcement
    }

    fn random(&self) -> u32 {
        self.registry.clock.random()
    }

    fn admit(&self, random: impl Fn() -> u32) -> Result<Self::Permit, Rejection> {
        KeyedPermit::acquire_by(self.registry.clone(), self.key.clone(), |_| random())
    }
}
