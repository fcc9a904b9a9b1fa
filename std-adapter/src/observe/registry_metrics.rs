//! Counts what happens to the keys of a registry.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use atomic_breaker::{Outcome, Rejected, State, Transition};

use super::counts::End;
use super::meter::{Meter, OTHER, OfKey, Seen, Watch};
use super::text::{Mode, state_index};
use crate::registry::{AnyRegistry, KeyedObserver};
use crate::words::printable;

/// Counts the calls, rejections and transitions of a registry for the `metrics` facade, and shows which keys are open.
///
/// ```
/// use atomic_breaker_std::observe::{self, RegistryMetrics};
/// use atomic_breaker_std::registry::{Registry, RegistryError};
/// use atomic_breaker_std::Config;
/// use std::sync::Arc;
///
/// let metrics = RegistryMetrics::new("hosts");
/// let hosts = Registry::builder(Config::new()).observer(metrics.clone()).build()?;
/// let hosts = Arc::new(hosts);
/// metrics.watch(&hosts);
///
/// assert_eq!(hosts.call("a.example", || Ok::<_, &str>(7)), Ok(7));
/// // For each scrape, before the recorder renders its page:
/// observe::publish();
/// # Ok::<(), RegistryError>(())
/// ```
///
/// All calls are counted together, without a key. A key gets a label of its own when it opens, if fewer than
/// [`max_keys`](Self::max_keys) have one: an attacker who can choose keys cannot create more. Other keys are counted
/// under the key `other`, and so is anything counted for a key before it gets a label. Labels are never given back,
/// because the series of a counter must continue. A new key is published at zero first, so that rates see it rise.
///
/// The counts reach the recorder in the same way as with [`BreakerMetrics`](super::BreakerMetrics). Clones count
/// together.
pub struct RegistryMetrics<K> {
    meter: Arc<Meter>,
    /// Keys that have a label.
    keys: Arc<papaya::HashMap<K, Arc<OfKey>>>,
    other: Arc<OfKey>,
    text: Arc<dyn Fn(&K) -> String + Send + Sync>,
    max_keys: usize,
}

impl<K> Clone for RegistryMetrics<K> {
    fn clone(&self) -> Self {
        Self {
            meter: Arc::clone(&self.meter),
            keys: Arc::clone(&self.keys),
            other: Arc::clone(&self.other),
            text: Arc::clone(&self.text),
            max_keys: self.max_keys,
        }
    }
}

impl<K: Hash + Eq + fmt::Display> RegistryMetrics<K> {
    /// Creates the metrics of the registry of that name; the label of a key is its `Display` text, in at most 128
    /// bytes, with control characters escaped.
    pub fn new(name: impl fmt::Display) -> Self {
        Self::by_text(name, |key| printable(key))
    }
}

impl<K: Hash + Eq> RegistryMetrics<K> {
    /// For keys without `Display`, or with another label: `text` returns the label. Keys with the same label are
    /// counted together.
    pub fn by_text(
        name: impl fmt::Display,
        text: impl Fn(&K) -> String + Send + Sync + 'static,
    ) -> Self {
        let meter = Meter::of(name);
        Self {
            other: meter.named_key(OTHER.to_owned()),
            meter,
            keys: Arc::new(papaya::HashMap::new()),
            text: Arc::new(text),
            max_keys: 100,
        }
    }

    /// Sets the maximum number of labels for keys that open, counting those of [named](Self::named) keys; 100 unless
    /// set. Each label takes four series. Registries with the same name share the number.
    #[must_use]
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Gives these keys a label from the start, published at zero, however many labels there are.
    #[must_use]
    pub fn named(self, keys: impl IntoIterator<Item = K>) -> Self {
        for key in keys {
            let of_key = self.meter.named_key(self.label(&key));
            self.keys.pin().insert(key, of_key);
        }
        self
    }

    fn label(&self, key: &K) -> String {
        printable((self.text)(key))
    }
}

impl<K: Hash + Eq + Clone + Send + Sync + 'static> RegistryMetrics<K> {
    /// Publishes the gauges of the states as well: their values are looked up in the registry each time, so a key that
    /// has lost its slot is no longer shown. Without this there are no such gauges. Ends when the registry is dropped.
    pub fn watch<R>(&self, registry: &Arc<R>)
    where
        R: AnyRegistry<Key = K> + Send + Sync + 'static,
    {
        let (weak, keys) = (Arc::downgrade(registry), Arc::downgrade(&self.keys));
        let text = Arc::clone(&self.text);
        let look = move || {
            let (registry, keys) = (weak.upgrade()?, keys.upgrade()?);
            Some(see(&*registry, &keys, &*text))
        };
        self.meter.watch(Watch {
            of: Arc::as_ptr(registry).addr(),
            look: Box::new(look),
        });
    }

    /// [`watch`](Self::watch) for a registry in a `static`, or a leaked one.
    pub fn watch_static<R>(&self, registry: &'static R)
    where
        R: AnyRegistry<Key = K> + Sync,
    {
        let (keys, text) = (Arc::clone(&self.keys), Arc::clone(&self.text));
        self.meter.watch(Watch {
            of: std::ptr::from_ref(registry).addr(),
            look: Box::new(move || Some(see(registry, &keys, &*text))),
        });
    }
}

/// Looks at the current state of a registry.
fn see<K: Hash + Eq + Clone>(
    registry: &impl AnyRegistry<Key = K>,
    keys: &papaya::HashMap<K, Arc<OfKey>>,
    text: &dyn Fn(&K) -> String,
) -> Seen {
    let mut seen = Seen::default();
    for entry in registry.as_registry().entries() {
        let state = entry.snapshot.state();
        seen.states[state_index(state)] += 1;
        let rejects = !matches!(state, State::Closed | State::Disabled);
        if rejects && keys.pin().contains_key(&*entry.key) {
            seen.open.insert(printable(text(&entry.key)));
        }
    }
    seen
}

impl<K: Hash + Eq + Clone> RegistryMetrics<K> {
    #[cold]
    fn count_transition(&self, key: &K, transition: &Transition) {
        self.meter.count_transition(transition);
        if matches!(transition.to, State::Open | State::ForcedOpen) {
            let of_key = self.find(key).or_else(|| self.add(key));
            let of_key = of_key.as_ref().unwrap_or(&self.other);
            OfKey::add(&of_key.opened);
        }
    }

    #[cold]
    fn count_rejection(&self, key: &K, mode: Mode) {
        self.meter.count_rejection(mode);
        let keys = self.keys.pin();
        let of_key = keys.get(key).unwrap_or(&self.other);
        OfKey::add(&of_key.rejections[mode as usize]);
    }

    fn find(&self, key: &K) -> Option<Arc<OfKey>> {
        self.keys.pin().get(key).map(Arc::clone)
    }

    /// A label for a key that has opened, if there is room.
    fn add(&self, key: &K) -> Option<Arc<OfKey>> {
        // Plus one for `other`.
        let most = self.max_keys.saturating_add(1);
        let of_key = self.meter.key(self.label(key), most)?;
        let keys = self.keys.pin();
        // There may be more keys than labels, because long labels are cut.
        if keys.len() < self.max_keys.saturating_mul(2) {
            keys.insert(key.clone(), Arc::clone(&of_key));
        }
        Some(of_key)
    }
}

impl<K: Hash + Eq + Clone> KeyedObserver<K> for RegistryMetrics<K> {
    fn transition(&self, key: &K, transition: &Transition) {
        self.count_transition(key, transition);
    }

    fn rejected(&self, key: &K, _: Rejected) {
        self.count_rejection(key, Mode::Enforced);
    }

    fn would_reject(&self, key: &K, _: Rejected) {
        self.count_rejection(key, Mode::Shadow);
    }

    #[inline]
    fn outcome(&self, _: &K, outcome: Outcome) {
        self.meter.counts.add(End::of(outcome));
    }

    #[inline]
    fn cancelled(&self, _: &K) {
        self.meter.counts.add(End::Cancelled);
    }
}

impl<K> fmt::Debug for RegistryMetrics<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryMetrics")
            .field("name", &self.meter.name)
            .finish_non_exhaustive()
    }
}
