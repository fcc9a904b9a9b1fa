//! What is counted under one name.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use atomic_breaker_server::{Cause, State, redact::printable};
use metrics::{Key, Recorder};

use super::calls::{Calls, ENDS};
use super::down::{self, DownSince, Unlabelled};
use super::series::{self, Counter, Labels, Metric, float};
use crate::label::{Mode, OTHER, label};
use crate::lock;

/// What is counted under one name, for the life of the program: counters must not fall, whatever is dropped and created
/// again.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) name: String,
    of_breakers: OnceLock<Arc<OfBreakers>>,
    counters: Mutex<BTreeMap<Arc<Key>, Arc<Counter>>>,
    keys: Mutex<BTreeMap<String, Arc<OfKey>>>,
    pub(super) unlabelled: Unlabelled,
    /// The breakers, if there ever was one.
    breakers: Mutex<Option<Breakers>>,
    /// The registries that are watched, by their addresses, if there ever was one.
    watches: Mutex<Option<BTreeMap<usize, Arc<Look>>>>,
    #[cfg(feature = "steps")]
    pub(super) jobs: Mutex<super::jobs::Stored>,
    #[cfg(feature = "fleet")]
    pub(super) fleet: Mutex<super::fleets::Watched>,
}

/// How many breakers there are, by state.
pub(super) type States = HashMap<State, u64>;

/// The single breakers of a name.
#[derive(Clone, Default)]
struct Breakers {
    states: States,
    /// How many have been down since that millisecond.
    down_since: BTreeMap<u64, u64>,
}

/// How one breaker stands.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    pub(super) state: State,
    /// In milliseconds, if it is down.
    pub(super) down_since: Option<u64>,
}

impl Standing {
    pub(super) const UP: Self = Self {
        state: State::Closed,
        down_since: None,
    };

    pub(super) fn then(self, state: State) -> Self {
        let down_since = self.down_since.unwrap_or_else(down::now_ms);
        Self {
            state,
            down_since: down::is_down(state).then_some(down_since),
        }
    }
}

/// What is counted of all breakers, or all keys of registries.
pub(super) struct OfBreakers {
    pub(super) calls: Calls,
    /// By mode, in its order.
    pub(super) rejections: [Arc<Counter>; Mode::ALL.len()],
}

/// What is counted of a key that has a label.
pub(super) struct OfKey {
    pub(super) opened: Arc<Counter>,
    /// Enforced, and in shadow mode: for each rejection by a registry it is known which.
    pub(super) rejections: [Arc<Counter>; 2],
    pub(super) down_since: DownSince,
}

/// Adds a registry's current state; `None` once it is gone.
pub(super) type Look = dyn Fn(&mut Seen) -> Option<()> + Send + Sync;

/// The current state of breakers and registries.
pub(super) struct Seen {
    pub(super) states: States,
    /// Keys that reject, as they are written in labels.
    pub(super) open: BTreeSet<String>,
    /// Since when the first of the breakers that are down has been so, if there are breakers; 0 if none is.
    breaker_down_since: Option<u64>,
}

/// All meters, by name.
static METERS: Mutex<BTreeMap<String, Arc<Meter>>> = Mutex::new(BTreeMap::new());

/// The most names; further ones are counted together.
const MOST_NAMES: usize = 1_000;

/// The states that breakers usually enter for that reason: these transitions are published even before the first one.
const fn usual(cause: Cause) -> &'static [State] {
    match cause {
        Cause::FailureLimit
        | Cause::FailureRatio
        | Cause::TripDemanded
        | Cause::RetryAfter
        | Cause::ProbeFailed
        | Cause::ProbeCancelled => &[State::Open],
        Cause::OpenTimeOver | Cause::ProbeLost => &[State::HalfOpen],
        Cause::ProbesSucceeded => &[State::Closed, State::Returning],
        Cause::TrafficReturned | Cause::CorruptWord => &[State::Closed],
        Cause::Manual => &[
            State::Closed,
            State::Open,
            State::HalfOpen,
            State::ForcedOpen,
            State::Disabled,
        ],
        _ => &[],
    }
}

pub(super) fn all() -> Vec<Arc<Meter>> {
    lock(&METERS).values().cloned().collect()
}

impl Meter {
    /// The meter of that name, always the same one.
    pub(super) fn of(name: impl fmt::Display) -> Arc<Self> {
        let mut name = printable(name);
        let mut meters = lock(&METERS);
        if meters.len() >= MOST_NAMES && !meters.contains_key(&name) {
            OTHER.clone_into(&mut name);
        }
        let meter = meters.entry(name).or_insert_with_key(|name| {
            Arc::new(Self {
                name: name.clone(),
                ..Self::default()
            })
        });
        Arc::clone(meter)
    }

    /// Returns the counters of breakers. From now on they and the usual transitions are published, at zero before
    /// anything happens.
    pub(super) fn of_breakers(&self) -> Arc<OfBreakers> {
        let of_breakers = self.of_breakers.get_or_init(|| {
            for &cause in Cause::ALL {
                for &to in usual(cause) {
                    self.transitions(to, cause);
                }
            }
            Arc::new(OfBreakers {
                calls: Calls::default(),
                rejections: Mode::ALL.map(|mode| {
                    let labels = [(series::ENFORCEMENT, &*label(mode))];
                    self.counter(series::REJECTIONS, &labels)
                }),
            })
        });
        Arc::clone(of_breakers)
    }

    /// The counter of that series, always the same one.
    pub(super) fn counter(&self, metric: Metric, labels: Labels<'_>) -> Arc<Counter> {
        self.find(metric, labels, false)
    }

    fn find(&self, metric: Metric, labels: Labels<'_>, rises: bool) -> Arc<Counter> {
        let key = series::key(metric, &self.name, labels);
        let mut counters = lock(&self.counters);
        let counter = counters.entry(Arc::new(key));
        Arc::clone(counter.or_insert_with(|| Arc::new(Counter::new(rises))))
    }

    pub(super) fn transitions(&self, to: State, cause: Cause) -> Arc<Counter> {
        let (to, cause) = (label(to), label(cause));
        let labels = [(series::STATE, &*to), (series::CAUSE, &*cause)];
        self.counter(series::TRANSITIONS, &labels)
    }

    /// Notes that a breaker of that name moved from one standing to another.
    pub(super) fn move_breaker(&self, from: Option<Standing>, to: Option<Standing>) {
        let mut breakers = lock(&self.breakers);
        let Breakers { states, down_since } = breakers.get_or_insert_default();
        if let Some(to) = to {
            *states.entry(to.state).or_default() += 1;
            if let Some(since) = to.down_since {
                *down_since.entry(since).or_default() += 1;
            }
        }
        let Some(from) = from else { return };
        if let Some(count) = states.get_mut(&from.state) {
            *count -= 1;
        }
        if let Some(Entry::Occupied(mut count)) = from.down_since.map(|at| down_since.entry(at)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// The counters of the key with that text as label; new ones if fewer than `most` keys have a label. They are published as
    /// zero first if they must rise.
    pub(super) fn key(&self, text: String, most: usize, rises: bool) -> Option<Arc<OfKey>> {
        let mut keys = lock(&self.keys);
        if keys.len() >= most && !keys.contains_key(&text) {
            return None;
        }
        let of_key = keys.entry(text).or_insert_with_key(|text| {
            let key = (series::KEY, &**text);
            Arc::new(OfKey {
                opened: self.find(series::KEY_OPENED, &[key], rises),
                rejections: [Mode::Enforced, Mode::Shadow].map(|mode| {
                    let labels = [key, (series::ENFORCEMENT, &*label(mode))];
                    self.find(series::KEY_REJECTIONS, &labels, rises)
                }),
                down_since: DownSince::default(),
            })
        });
        Some(Arc::clone(of_key))
    }

    /// Watches the registry at that address.
    pub(super) fn watch(&self, address: usize, look: Arc<Look>) {
        let mut watches = lock(&self.watches);
        watches.get_or_insert_default().insert(address, look);
    }

    /// The current state of the breakers and registries of that name, if there were any to look at.
    fn look(&self) -> Option<Seen> {
        let watches = lock(&self.watches).clone();
        let breakers = lock(&self.breakers).clone();
        if watches.is_none() && breakers.is_none() {
            return None;
        }
        let first = |it: &Breakers| it.down_since.keys().next().copied().unwrap_or_default();
        let mut all = Seen {
            breaker_down_since: breakers.as_ref().map(first),
            states: breakers.unwrap_or_default().states,
            open: BTreeSet::new(),
        };
        // Called without the lock, because looking at a registry may be slow.
        for look in watches.unwrap_or_default().values() {
            if look(&mut all).is_none() {
                let mut watches = lock(&self.watches);
                let watches = watches.get_or_insert_default();
                watches.retain(|_, kept| !Arc::ptr_eq(kept, look));
            }
        }
        Some(all)
    }

    /// Passes everything to the recorder; new keys stay at zero for that long.
    pub(super) fn publish(&self, recorder: &dyn Recorder, at_zero_for: Duration) {
        if let Some(of_breakers) = self.of_breakers.get() {
            for (end, name) in ENDS.into_iter().enumerate() {
                let key = series::key(series::CALLS, &self.name, &[(series::OUTCOME, name)]);
                series::set_counter(recorder, &key, of_breakers.calls.sum(end));
            }
        }
        // The lock is not held while the recorder is called, because that may be slow, or use a breaker.
        let counters = lock(&self.counters).clone();
        for (key, counter) in &counters {
            series::set_counter(recorder, key, counter.value(at_zero_for));
        }
        if let Some(seen) = self.look() {
            for state in State::ALL {
                let count = seen.states.get(state).copied().unwrap_or_default();
                let labels = [(series::STATE, &*label(state))];
                self.set(recorder, series::BREAKERS, &labels, float(count));
            }
            if let Some(since) = seen.breaker_down_since {
                self.set(recorder, series::DOWN_SINCE, &[], down::seconds(since));
            }
            self.publish_keys(recorder, &seen.open);
        }
        #[cfg(feature = "steps")]
        super::jobs::publish(self, recorder);
        #[cfg(feature = "fleet")]
        super::fleets::publish(self, recorder);
    }

    /// Sets the gauges of the keys, of which these are down.
    fn publish_keys(&self, recorder: &dyn Recorder, down: &BTreeSet<String>) {
        let set = |label: &str, is_down: bool, since| {
            let labels = [(series::KEY, label)];
            self.set(recorder, series::KEY_OPEN, &labels, float(is_down.into()));
            self.set(
                recorder,
                series::KEY_DOWN_SINCE,
                &labels,
                down::seconds(since),
            );
        };
        let keys = lock(&self.keys).clone();
        for (label, of_key) in keys.iter().filter(|(label, _)| *label != OTHER) {
            let is_down = down.contains(label);
            // What happened without a notification is noted here.
            set(label, is_down, of_key.down_since.note(|| is_down));
        }
        if keys.contains_key(OTHER) {
            let has_label = |key: &String| key != OTHER && keys.contains_key(key);
            let unlabelled = down.iter().filter(|key| !has_label(key));
            let since = self.unlabelled.note(unlabelled);
            set(OTHER, since != 0, since);
        }
    }

    /// Sets a gauge.
    pub(super) fn set(
        &self,
        recorder: &dyn Recorder,
        metric: Metric,
        labels: Labels<'_>,
        value: f64,
    ) {
        series::set_gauge(recorder, &series::key(metric, &self.name, labels), value);
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
