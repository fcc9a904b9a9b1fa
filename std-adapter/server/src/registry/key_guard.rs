// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard of the calls of one key of a registry.

use std::hash::{BuildHasher, Hash};
use std::task::Waker;
use std::time::Duration;

use atomic_breaker::{
    Clock, Outcome, Snapshot, State, Tally, Transition, wait::Awaited, word::Layout,
};

use super::breakers::Place;
use super::insertion::COME_BACK_IN;
use super::{AnyRegistry, KeyedObserver, Registry, RegistryOf, WhenFull};
use crate::guard::{Granted, Grants, Guard, GuardPermit};
use crate::loss::{Begun, ConnectionId};
use crate::permit::{Admit, OneBreaker, Rejection};

/// A key of a registry, whose calls its breaker guards: [`Registry::of`](super::Registry::of). `H` leads to the registry:
/// a reference, or an `Arc` if the key is to own it.
///
/// In layers it admits all requests: for a service that belongs to one key, such as the endpoint of a balancer under a
/// `GateLayer`. The endpoints of a pool then share a registry, and with it
/// [`max_shut_out`](super::RegistryBuilder::max_shut_out). Changes wake no gate: it looks each second.
///
/// ```
/// use atomic_breaker_server::{Admit, Config, Guard, KeyGuard, Registry};
/// use std::sync::Arc;
///
/// let pool: Registry<&str> = Registry::builder(Config::new()).max_shut_out(1).build()?;
/// let pool = Arc::new(pool);
/// assert_eq!(pool.of("10.0.0.1:80").call(|| Ok::<_, &str>(7)), Ok(7));
///
/// let endpoint = KeyGuard::new(Arc::clone(&pool), "10.0.0.1:80");
/// assert!(endpoint.admit("a request").is_ok());
/// # Ok::<(), atomic_breaker_server::RegistryError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KeyGuard<H: AnyRegistry> {
    registry: H,
    key: H::Key,
}

impl<H: AnyRegistry> KeyGuard<H> {
    /// A key of a registry.
    pub const fn new(registry: H, key: H::Key) -> Self {
        Self { registry, key }
    }

    /// The handle that leads to the registry.
    pub const fn registry(&self) -> &H {
        &self.registry
    }

    /// The key.
    pub const fn key(&self) -> &H::Key {
        &self.key
    }

    pub(super) fn into_key(self) -> H::Key {
        self.key
    }

    /// An unguarded permit for a call that is part of another one, whose permit guards both: always granted, reports
    /// nothing.
    pub fn unguarded(self) -> GuardPermit<Self> {
        GuardPermit::new(self, Granted::unguarded(Place::NONE), Begun::now())
    }
}

impl<H: AnyRegistry + Clone> Guard for KeyGuard<H> {}

impl<Q: ?Sized, H: AnyRegistry + Clone> Admit<Q> for KeyGuard<H> {
    type Permit = GuardPermit<Self>;

    #[inline]
    fn admit(&self, _: &Q) -> Result<Self::Permit, Rejection> {
        self.clone().acquire()
    }
}

#[expect(
    clippy::inline_always,
    reason = "a permit that is handed through memory costs more than all else here, and is read where it lies"
)]
impl<H: AnyRegistry> Grants for KeyGuard<H> {
    type Key = H::Key;
    type Bits = u64;
    type Place = Place;
    type Awaited = Self;

    fn key(&self) -> &H::Key {
        &self.key
    }

    fn awaited(&self) -> &Self {
        self
    }

    fn is_enforced(&self, state: State, random: impl FnOnce() -> u32) -> bool {
        let registry = &*self.registry;
        registry.enforcement.is_enforced(random) && {
            let slot = registry.find(&self.key).map(|(place, _)| place.slot());
            registry.is_within_cap(slot, state)
        }
    }

    fn random(&self) -> u32 {
        self.registry.clock.random()
    }

    #[inline(always)]
    fn grant(&self, random: impl Fn() -> u32) -> Result<Granted<u64, Place>, Rejection> {
        let registry: &RegistryOf<H> = &self.registry;
        match registry.admit_at_once(&self.key) {
            Ok(granted) => Ok(granted),
            Err(pending) => registry.admit(&self.key, pending, random),
        }
    }

    #[inline(always)]
    fn end(
        &self,
        granted: Granted<u64, Place>,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        self.registry.report(&self.key, granted, outcome, why)
    }

    fn counts_shared(&self, begun: Begun, connection: ConnectionId) -> bool {
        self.registry.counts_shared(&self.key, begun, connection)
    }

    fn still_counts(&self, granted: Granted<u64, Place>) -> bool {
        self.registry.still_counts(&self.key, granted)
    }

    fn renew(&self, granted: Granted<u64, Place>) -> Option<Granted<u64, Place>> {
        self.registry.renew(&self.key, granted)
    }
}

impl<H: AnyRegistry> Awaited for KeyGuard<H> {
    /// The place of the key, and its word.
    type Epoch = Option<(Place, u64)>;

    fn epoch(&self) -> Self::Epoch {
        let registry = &*self.registry;
        let (place, slot) = registry.find(&self.key)?;
        Some((place, Awaited::epoch(&registry.breaker(slot, ()))))
    }

    fn snapshot(&self) -> Snapshot {
        let registry = &*self.registry;
        registry
            .entry(&self.key)
            .map_or_else(|| registry.snapshot_of_absent(), |entry| entry.snapshot)
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.registry.observer.wake_on_change(&self.key, waker)
    }

    fn entropy(&self) -> u32 {
        self.registry.clock.entropy()
    }
}

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Returns the guard of a key's calls: `hosts.of("a.example").call(..)`, by the methods of [`Guard`]. From an
    /// `Arc`, [`KeyGuard::new`] gives one that owns it.
    #[inline]
    pub const fn of(&self, key: K) -> KeyGuard<&Self> {
        KeyGuard::new(self, key)
    }

    /// The snapshot for a key without a slot.
    fn snapshot_of_absent(&self) -> Snapshot {
        match self.when_full {
            WhenFull::Reject if self.is_known_to_be_full() => {
                Snapshot::new(State::Open).with_wait(COME_BACK_IN)
            }
            WhenFull::Pass | WhenFull::Reject => Snapshot::new(State::Closed),
        }
    }
}

impl<H: AnyRegistry> OneBreaker for KeyGuard<H> {
    type Awaited = Self;

    fn awaited(&self) -> &Self {
        self
    }

    fn lease(&self) -> Duration {
        let config = self.registry.config_of(&self.key);
        let lease_ms = config.lease_ms(Layout::WIDE.max_ms());
        Duration::from_millis(lease_ms.into())
    }
}
