// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts what happens to the keys of a registry.

use std::fmt;
use std::hash::Hash;
use std::ptr;
use std::sync::Arc;

use atomic_breaker_server::{
    AnyRegistry, KeyedObserver, Outcome, Present, Rejected, State, Transition, redact::printable,
};

use super::breakers::{BreakerCounts, KeyCounts, Looked};
use super::calls::{CANCELLED, end_of};
use super::down::is_down;
use super::{Metrics, Observed};
use crate::by_hash::ByHash;
use crate::label::{Mode, OTHER};

/// [`Metrics`] of a registry, which also show which keys are open.
///
/// ```
/// use atomic_breaker_observe::Metrics;
/// use atomic_breaker_server::{Config, Guard, Registry, RegistryError};
/// use std::sync::Arc;
///
/// let metrics = Metrics::new("hosts");
/// let hosts = Registry::builder(Config::new()).observer(metrics.clone()).build()?;
/// let hosts = Arc::new(hosts);
/// metrics.watch(&hosts);
///
/// assert_eq!(hosts.of("a.example").call(|| Ok::<_, &str>(7)), Ok(7));
/// // For each scrape, before the recorder renders its page:
/// atomic_breaker_observe::publish();
/// # Ok::<(), RegistryError>(())
/// ```
///
/// All calls are counted together, without a key. A key gets a label of its own when it opens, if fewer than
/// [`max_keys`](Metrics::max_keys) have one: an attacker who can choose keys cannot create more. The label is the
/// `Display` text of the key, in at most 128 bytes, with control characters escaped; keys with the same label are counted
/// together. Other keys are counted under the key `other`, and so is anything counted for a key before it gets a label;
/// the gauges of `other` show whether one of them is down, and since when the first has been seen to be.
/// Labels are never given back, because the series of a counter must continue. A new key is published at zero first, so
/// that rates see it rise. Clones count together.
///
/// Give each registry a name of its own: if two of one name have the same key, its outage in one of them seems to begin
/// anew whenever the other one closes it.
#[derive(Clone)]
pub struct OfKeys {
    all: &'static BreakerCounts,
    labelled: Arc<ByHash<&'static KeyCounts>>,
    other: &'static KeyCounts,
    most: usize,
}

impl Metrics<OfKeys> {
    /// Sets the maximum number of labels for keys that open, counting those of [named](Self::named) keys; 100 unless
    /// set. Each label takes five series. Registries with the same name share the number.
    #[must_use]
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.0.most = keys;
        self
    }

    /// Gives these keys a label from the start, published at zero, however many labels there are.
    #[must_use]
    pub fn named<K: Hash + fmt::Display>(self, keys: impl IntoIterator<Item = K>) -> Self {
        for key in keys {
            if let Some(counts) = self.0.all.key(printable(&key), usize::MAX, false) {
                let keys = &self.0.labelled;
                keys.pin().insert(keys.hash(&key), counts);
            }
        }
        self
    }

    /// Publishes the gauges of the states as well: their values are looked up in the registry each time, so a key that
    /// has lost its slot is no longer shown. Without this there are no such gauges. Ends when the registry is dropped.
    pub fn watch<R>(&self, registry: &Arc<R>)
    where
        Arc<R>: AnyRegistry<Key: fmt::Display>,
        R: Send + Sync + 'static,
    {
        let weak = Arc::downgrade(registry);
        self.look_at(weak.as_ptr().addr(), move || weak.upgrade());
    }

    /// [`watch`](Self::watch) for a registry that lives as long as the program, such as the hosts of a `ClientGuard` that
    /// was leaked or is a `static`.
    pub fn watch_static<R>(&self, registry: &'static R)
    where
        &'static R: AnyRegistry<Key: fmt::Display>,
        R: Sync,
    {
        self.look_at(ptr::from_ref(registry).addr(), move || Some(registry));
    }

    /// [`watch`](Self::watch) for the keys that processes share, which a process in any language may have opened. A key that
    /// is seen to be down gets a label as one that opens does; what other processes count is not known here.
    #[cfg(all(feature = "mapped", unix, target_has_atomic = "64"))]
    #[cfg_attr(docsrs, doc(cfg(feature = "mapped")))]
    pub fn watch_slab<C>(&self, slab: &Arc<atomic_breaker_mapped::MappedSlab<C>>)
    where
        C: atomic_breaker_mapped::MachineClock + Send + Sync + 'static,
    {
        let weak = Arc::downgrade(slab);
        // Plus one for `other`.
        let (all, most) = (self.0.all, self.0.most.saturating_add(1));
        let look = move |looked: &mut Looked| {
            for (key, snapshot) in weak.upgrade()?.entries() {
                let state = snapshot.state();
                looked.add(state);
                if is_down(state) {
                    let label = printable(String::from_utf8_lossy(&key));
                    let _ = all.key(label.clone(), most, true);
                    looked.down.insert(label);
                }
            }
            Some(())
        };
        all.watch(Arc::as_ptr(slab).addr(), look);
    }

    /// The address tells registries apart.
    fn look_at<H>(&self, address: usize, lead: impl Fn() -> Option<H> + Send + Sync + 'static)
    where
        H: AnyRegistry<Key: fmt::Display>,
    {
        let look = move |looked: &mut Looked| {
            for entry in lead()?.entries() {
                let state = entry.snapshot.state();
                looked.add(state);
                if is_down(state) {
                    looked.down.insert(printable(&*entry.key));
                }
            }
            Some(())
        };
        self.0.all.watch(address, look);
    }
}

impl Observed for OfKeys {
    fn named(name: &dyn fmt::Display) -> Self {
        let all = BreakerCounts::of(name);
        let other = all.key(OTHER.to_owned(), usize::MAX, false);
        Self {
            all,
            labelled: Arc::new(ByHash::new()),
            other: other.expect("there is room"),
            most: 100,
        }
    }
}

impl OfKeys {
    #[cold]
    fn count_rejection(&self, key: &impl Hash, mode: Mode) {
        self.all.rejections[mode as usize].add();
        let keys = self.labelled.pin();
        let counts = keys.get(&self.labelled.hash(key)).unwrap_or(&self.other);
        counts.rejections[mode as usize].add();
    }

    /// Counts a transition; the state now is read under a lock.
    fn count<K>(&self, key: &K, transition: &Transition, state: impl FnOnce() -> State)
    where
        K: Hash + fmt::Display,
    {
        self.all.count(transition);
        let counts = if matches!(transition.to, State::Open | State::ForcedOpen) {
            let counts = self.opened(key);
            counts.opened.add();
            counts
        } else {
            let hash = self.labelled.hash(key);
            let counts = self.labelled.pin().get(&hash).copied();
            counts.unwrap_or(self.other)
        };
        if !ptr::eq(counts, self.other) {
            counts.down_since.note(|| is_down(state()));
        } else if !is_down(state()) {
            self.all.unlabelled.end(|| printable(key));
        }
    }

    /// The counters of a key that has opened, with a new label if there is room.
    fn opened<K: Hash + fmt::Display>(&self, key: &K) -> &'static KeyCounts {
        let hash = self.labelled.hash(key);
        let keys = self.labelled.pin();
        if let Some(counts) = keys.get(&hash) {
            return counts;
        }
        // Plus one for `other`.
        let most = self.most.saturating_add(1);
        let Some(counts) = self.all.key(printable(key), most, true) else {
            return self.other;
        };
        // There may be more keys than labels, because long labels are cut.
        if keys.len() < self.most.saturating_mul(2) {
            keys.insert(hash, counts);
        }
        counts
    }
}

impl<K: Hash + fmt::Display> KeyedObserver<K> for Metrics<OfKeys> {
    #[cold]
    fn transition(&self, key: &K, transition: &Transition) {
        self.0.count(key, transition, || transition.to);
    }

    #[cold]
    fn changed(&self, key: &K, transition: &Transition, present: Present<'_>) {
        self.0.count(key, transition, || present.state());
    }

    fn rejected(&self, key: &K, _: Rejected) {
        self.0.count_rejection(key, Mode::Enforced);
    }

    fn would_reject(&self, key: &K, _: Rejected) {
        self.0.count_rejection(key, Mode::Shadow);
    }

    #[inline]
    fn outcome(&self, _: &K, outcome: Outcome) {
        self.0.all.calls.add(end_of(outcome));
    }

    #[inline]
    fn cancelled(&self, _: &K) {
        self.0.all.calls.add(CANCELLED);
    }
}

impl fmt::Debug for OfKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OfKeys").field(self.all.meter).finish()
    }
}
