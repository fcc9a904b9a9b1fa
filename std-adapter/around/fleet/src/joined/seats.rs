// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of registry keys that their fleet is notified of, and its actions on them.

use std::fmt;
use std::hash::Hash;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use atomic_breaker::{Config, Rejected, Snapshot, Transition};
use atomic_breaker_server::{AnyRegistry, KeyName, KeyedObserver, RegistryError};

use super::queue::{BreakerEvent, FollowedRegistry, Queue, TakenPlaces, Target, is_ours};
use crate::member::Action;
use crate::name::{Name, SEPARATOR};

/// The places of all keys of a [`Registry`](atomic_breaker_server::Registry) in its fleet. It [observes](KeyedObserver) the
/// registry, and [takes](Self::take) it once it is built. Clones share the places.
///
/// ```
/// use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
/// use atomic_breaker_server::{Config, Registry};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fleet = Joined::new(InProcess::new(), FleetConfig::new(3))?;
///
/// let seats = fleet.seats("hosts")?;
/// let hosts: Registry<String, _, _, _> =
///     Registry::builder(Config::new()).observer(seats.clone()).build()?;
/// let hosts = Arc::new(hosts);
/// seats.take(Arc::clone(&hosts));
/// # Ok(()) }
/// ```
///
/// Keys that are open in the fleet get a slot here, even if they were never called here; so only as many follow as have
/// a slot, and those beyond [go on alone](super::FleetStatus::left_alone). A transition costs a place in a queue; a
/// rejection one load, or a lookup while some key is due for a probe; a success or failure nothing.
pub struct Seats<K>(Arc<SeatsShared<K>>);

struct SeatsShared<K> {
    registry: Name,
    /// Keys whose next rejection is awaited.
    armed: papaya::HashSet<K>,
    /// The number of them, for rejections that need not look.
    armed_count: AtomicUsize,
    queue: Queue,
}

impl<K: Hash + Eq> SeatsShared<K> {
    fn arm(&self, key: K) {
        // Counted first, so that it is never too low.
        self.armed_count.fetch_add(1, Ordering::Relaxed);
        if !self.armed.pin().insert(key) {
            self.armed_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Disarms the key, and returns whether it was armed.
    fn disarm(&self, key: &K) -> bool {
        let was_armed = self.armed.pin().remove(key);
        if was_armed {
            self.armed_count.fetch_sub(1, Ordering::Relaxed);
        }
        was_armed
    }
}

impl<K: Hash + Eq> Seats<K> {
    pub(super) fn new(registry: Name, places: &TakenPlaces, queue: &Queue) -> Self
    where
        K: Send + Sync + 'static,
    {
        Self(places.find(registry, |registry| SeatsShared {
            registry,
            armed: papaya::HashSet::new(),
            armed_count: AtomicUsize::new(0),
            queue: queue.clone(),
        }))
    }

    /// Hands over the registry that this observes: an `Arc`, or a reference to a `static`. From now on its keys follow
    /// their fleet, which keeps the registry for as long as the process is joined. Another one with the same name
    /// replaces it.
    ///
    /// Returns whether the fleet had room for it and is still running.
    pub fn take<H>(&self, registry: H) -> bool
    where
        H: AnyRegistry<Key = K> + Clone + Send + Sync + 'static,
        K: KeyName + Clone + Send + Sync + 'static,
    {
        let seats = self.clone();
        let room = registry.capacity();
        let find = Box::new(move |name: &Name| -> Option<Box<dyn Target>> {
            Some(Box::new(OfKey {
                key: seats.key_of(name)?,
                seats: seats.clone(),
                registry: registry.clone(),
            }))
        });
        let name = self.0.registry.clone();
        let event = BreakerEvent::Registry(name, FollowedRegistry { find, room });
        self.0.queue.send(event)
    }
}

impl<K> Seats<K> {
    fn place(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<K: KeyName> Seats<K> {
    /// The name of a key in its fleet; `None` if it is too long.
    fn name_of(&self, key: &K) -> Option<Name> {
        let mut name = self.0.registry.as_bytes().to_vec();
        name.push(SEPARATOR);
        write!(name, "{key}").ok()?;
        Name::new(name).ok()
    }

    /// The key with this name; `None` if that is not a key, or not as this registry writes it: otherwise two names
    /// would command the same breaker.
    fn key_of(&self, name: &Name) -> Option<K> {
        let prefix = self.0.registry.as_bytes().len() + 1;
        let key = K::from_name(str::from_utf8(name.as_bytes().get(prefix..)?).ok()?)?;
        (self.name_of(&key)? == *name).then_some(key)
    }
}

impl<K: KeyName + Hash + Eq> Seats<K> {
    /// A caller is available to probe the key.
    fn note_caller(&self, key: &K) {
        // Set by the task that receives what is sent.
        if self.0.armed_count.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Looked up first, so that a rejected key writes nothing just because another one is armed.
        let is_armed = self.0.armed.pin().contains(key);
        if is_armed && self.0.disarm(key) {
            if let Some(name) = self.name_of(key) {
                self.0.queue.send(BreakerEvent::Rejected(name));
            }
        }
    }
}

impl<K: KeyName + Hash + Eq> KeyedObserver<K> for Seats<K> {
    fn transition(&self, key: &K, transition: &Transition) {
        if is_ours(self.place(), || self.name_of(key)) {
            return;
        }
        self.0.queue.send(match self.name_of(key) {
            Some(name) => BreakerEvent::Transition(name, *transition),
            None => BreakerEvent::LeftAlone,
        });
    }

    fn rejected(&self, key: &K, _: Rejected) {
        self.note_caller(key);
    }

    /// Never wakes: a waiting caller counts like a rejected one.
    fn wake_on_change(&self, key: &K, _: &Waker) -> bool {
        self.note_caller(key);
        false
    }
}

impl<K> Clone for Seats<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Seats<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seats").field(&self.0.registry).finish()
    }
}

struct OfKey<K: Hash + Eq, H> {
    seats: Seats<K>,
    registry: H,
    key: K,
}

impl<K, H> Target for OfKey<K, H>
where
    H: AnyRegistry<Key = K> + Send + Sync,
    K: Hash + Eq + Clone + Send + Sync,
{
    fn rules(&self) -> Config {
        self.registry.config_of(&self.key)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        let registry = &self.registry;
        Some(registry.entry(&self.key)?.snapshot)
    }

    fn transitions_since(&self, made: &Transition) -> u16 {
        let registry = &self.registry;
        let since =
            registry.command_if_present(&self.key, |breaker| breaker.transitions_since(made));
        // Without a slot there is no later transition.
        since.unwrap_or(0)
    }

    fn place(&self) -> usize {
        self.seats.place()
    }

    fn act(&self, action: Action) -> Result<Option<Transition>, RegistryError> {
        let registry = &self.registry;
        // Only what opens needs a slot.
        if matches!(action, Action::Trip { .. }) {
            return registry.command(&self.key, |breaker| action.apply_to(breaker));
        }
        let made = registry.command_if_present(&self.key, |breaker| action.apply_to(breaker));
        Ok(made.flatten())
    }

    fn arm(&self, is_armed: bool) {
        if is_armed {
            self.seats.0.arm(self.key.clone());
        } else {
            self.seats.0.disarm(&self.key);
        }
    }
}
