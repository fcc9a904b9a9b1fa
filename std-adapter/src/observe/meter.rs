//! What is counted under one name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atomic_breaker::{Cause, State, Transition};

use super::counts::Counts;
use super::text::{Mode, cause_index, state_index};
use crate::words::printable;

/// The label of keys that have none of their own.
pub(super) const OTHER: &str = "other";

/// What is counted under one name, for the life of the program: counters must not fall, whatever is dropped and created
/// again. No other memory depends on these counts, so all orderings are relaxed.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) name: String,
    pub(super) counts: Counts,
    /// Indexed by the state after the transition, and by the cause; the last index is for values that are not known
    /// here.
    transitions: [[AtomicU64; Cause::ALL.len() + 1]; State::ALL.len() + 1],
    rejections: [AtomicU64; Mode::ALL.len()],
    /// How many breakers are in each state.
    states: [AtomicU64; State::ALL.len() + 1],
    has_breakers: AtomicBool,
    keys: Mutex<BTreeMap<String, Arc<OfKey>>>,
    watches: Mutex<Watches>,
}

/// A watch on a registry.
pub(super) struct Watch {
    /// The address of the registry: each is looked at only once.
    pub(super) of: usize,
    /// Returns the registry's current state; `None` once it is gone.
    pub(super) look: Box<dyn Fn() -> Option<Seen> + Send + Sync>,
}

#[derive(Default)]
struct Watches {
    /// Whether there ever was one.
    is_watched: bool,
    all: Vec<Arc<Watch>>,
}

impl std::fmt::Debug for Watches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entry(&self.all.len()).finish()
    }
}

/// The current state of a registry.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) states: [u64; State::ALL.len() + 1],
    /// The labels of keys that reject.
    pub(super) open: BTreeSet<String>,
}

/// What is counted of a key.
#[derive(Debug, Default)]
pub(super) struct OfKey {
    pub(super) opened: AtomicU64,
    pub(super) rejections: [AtomicU64; Mode::ALL.len()],
    /// Whether it was named in advance.
    is_named: bool,
    /// When it was first shown, at zero.
    shown: Mutex<Option<Instant>>,
}

impl OfKey {
    #[cfg(feature = "registry")]
    pub(super) fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it is still to be shown at zero, so that a reader sees it rise.
    pub(super) fn is_new(&self, for_at_least: Duration) -> bool {
        if self.is_named {
            return false;
        }
        let mut shown = lock(&self.shown);
        if let Some(since) = *shown {
            return since.elapsed() < for_at_least;
        }
        *shown = Some(Instant::now());
        true
    }
}

/// All meters, by name.
static METERS: Mutex<BTreeMap<String, Arc<Meter>>> = Mutex::new(BTreeMap::new());

// As the documentation of `BreakerMetrics` says.
const _: () = assert!(size_of::<Meter>() <= 17_920);

/// The most names; further ones are counted together.
pub(super) const MOST_NAMES: usize = 1_000;

pub(super) fn all() -> Vec<Arc<Meter>> {
    lock(&METERS).values().map(Arc::clone).collect()
}

impl Meter {
    /// The meter of that name, always the same one.
    pub(super) fn of(name: impl std::fmt::Display) -> Arc<Self> {
        let mut name = printable(name);
        let mut meters = lock(&METERS);
        if meters.len() >= MOST_NAMES && !meters.contains_key(&name) {
            OTHER.clone_into(&mut name);
        }
        let meter = meters.entry(name).or_insert_with_key(|name| {
            Arc::new(Self {
                name: name.clone(),
                counts: Counts::new(),
                transitions: Default::default(),
                rejections: Default::default(),
                states: Default::default(),
                has_breakers: AtomicBool::new(false),
                keys: Mutex::default(),
                watches: Mutex::default(),
            })
        });
        Arc::clone(meter)
    }

    pub(super) fn count_transition(&self, transition: &Transition) {
        let to = &self.transitions[state_index(transition.to)];
        to[cause_index(transition.cause)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn transitions(&self, to: usize, cause: usize) -> u64 {
        self.transitions[to][cause].load(Ordering::Relaxed)
    }

    pub(super) fn count_rejection(&self, mode: Mode) {
        self.rejections[mode as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn rejections(&self, mode: Mode) -> u64 {
        self.rejections[mode as usize].load(Ordering::Relaxed)
    }

    /// Notes that a breaker of that name moved from one state to another.
    pub(super) fn move_breaker(&self, from: Option<State>, to: Option<State>) {
        self.has_breakers.store(true, Ordering::Relaxed);
        if let Some(to) = to {
            self.states[state_index(to)].fetch_add(1, Ordering::Relaxed);
        }
        if let Some(from) = from {
            self.states[state_index(from)].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The counters of the key with that label, new ones if fewer than `most` keys have a label.
    pub(super) fn key(&self, label: String, most: usize) -> Option<Arc<OfKey>> {
        let mut keys = lock(&self.keys);
        if keys.len() >= most && !keys.contains_key(&label) {
            return None;
        }
        Some(Arc::clone(keys.entry(label).or_default()))
    }

    /// The counters of a key that is known in advance.
    pub(super) fn named_key(&self, label: String) -> Arc<OfKey> {
        let named = || {
            Arc::new(OfKey {
                is_named: true,
                ..OfKey::default()
            })
        };
        Arc::clone(lock(&self.keys).entry(label).or_insert_with(named))
    }

    pub(super) fn keys(&self) -> Vec<(String, Arc<OfKey>)> {
        let keys = lock(&self.keys);
        let keys = keys.iter();
        keys.map(|(label, key)| (label.clone(), Arc::clone(key)))
            .collect()
    }

    pub(super) fn watch(&self, watch: Watch) {
        let mut watches = lock(&self.watches);
        watches.is_watched = true;
        watches.all.retain(|other| other.of != watch.of);
        watches.all.push(Arc::new(watch));
    }

    /// The current state of the breakers and registries of that name, if there were any to look at.
    pub(super) fn look(&self) -> Option<Seen> {
        let (is_watched, watches) = {
            let watches = lock(&self.watches);
            (watches.is_watched, watches.all.clone())
        };
        if !is_watched && !self.has_breakers.load(Ordering::Relaxed) {
            return None;
        }
        let mut all = Seen {
            states: self
                .states
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
            open: BTreeSet::new(),
        };
        // Called without the lock, because looking at a registry may be slow.
        for watch in watches {
            match (watch.look)() {
                Some(mut seen) => {
                    for (sum, count) in all.states.iter_mut().zip(seen.states) {
                        *sum += count;
                    }
                    all.open.append(&mut seen.open);
                }
                None => lock(&self.watches)
                    .all
                    .retain(|kept| !Arc::ptr_eq(kept, &watch)),
            }
        }
        Some(all)
    }
}

/// The work done under the lock leaves the data consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
