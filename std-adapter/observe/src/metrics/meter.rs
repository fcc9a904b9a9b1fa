//! What is counted under one name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use atomic_breaker_registry::{Cause, State, words::printable};
use metrics::Recorder;

use super::calls::{Calls, ENDS};
use super::counters::{Counter, Counters};
use super::series::{self, Labels, float};
use crate::lock;
use crate::words::{Mode, OTHER, cause_name, state_name};

/// What is counted under one name, for the life of the program: counters must not fall, whatever is dropped and created
/// again.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) name: String,
    calls: OnceLock<Arc<Calls>>,
    counters: Counters,
    keys: Mutex<BTreeMap<String, Arc<OfKey>>>,
    /// How many breakers are in each state, if there ever was one.
    breakers: Mutex<Option<States>>,
    /// The registries that are watched, if there ever was one.
    watches: Mutex<Option<Vec<Arc<Watch>>>>,
    #[cfg(feature = "steps")]
    pub(super) jobs: Mutex<super::jobs::Stored>,
}

/// How many breakers there are, by state.
pub(super) type States = BTreeMap<&'static str, u64>;

/// What is counted of a key that has a label.
pub(super) struct OfKey {
    pub(super) label: String,
    pub(super) opened: Arc<Counter>,
    /// Enforced, and in shadow mode: for each rejection by a registry it is known which.
    pub(super) rejections: [Arc<Counter>; 2],
}

/// A watch on a registry.
pub(super) struct Watch {
    /// The address of the registry: each is looked at only once.
    pub(super) of: usize,
    pub(super) look: Box<Look>,
}

/// Adds a registry's current state; `false` once it is gone.
type Look = dyn Fn(&mut Seen) -> bool + Send + Sync;

/// The current state of breakers and registries.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) states: States,
    /// The labels of keys that reject.
    pub(super) open: BTreeSet<String>,
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
    lock(&METERS).values().map(Arc::clone).collect()
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

    /// Returns the counters of calls. From now on they and the usual transitions are published, at zero before anything
    /// happens.
    pub(super) fn calls(&self) -> Arc<Calls> {
        let calls = self.calls.get_or_init(|| {
            for &cause in Cause::ALL {
                for &to in usual(cause) {
                    self.transitions(to, cause);
                }
            }
            Arc::default()
        });
        Arc::clone(calls)
    }

    pub(super) fn counter(&self, metric: &'static str, labels: Labels<'_>) -> Arc<Counter> {
        let key = series::key(metric, &self.name, labels);
        self.counters.find(key, false)
    }

    pub(super) fn transitions(&self, to: State, cause: Cause) -> Arc<Counter> {
        let labels = [
            (series::STATE, state_name(to)),
            (series::CAUSE, cause_name(cause)),
        ];
        self.counter(series::TRANSITIONS, &labels)
    }

    /// By mode, in its order.
    pub(super) fn rejections(&self) -> [Arc<Counter>; Mode::ALL.len()] {
        Mode::ALL.map(|mode| {
            let labels = [(series::ENFORCEMENT, mode.name())];
            self.counter(series::REJECTIONS, &labels)
        })
    }

    /// Notes that a breaker of that name moved from one state to another.
    pub(super) fn move_breaker(&self, from: Option<State>, to: Option<State>) {
        let mut breakers = lock(&self.breakers);
        let states = breakers.get_or_insert_default();
        if let Some(to) = to {
            *states.entry(state_name(to)).or_default() += 1;
        }
        if let Some(count) = from.and_then(|from| states.get_mut(state_name(from))) {
            *count -= 1;
        }
    }

    /// The counters of the key with that label; new ones if fewer than `most` keys have a label. They are published as
    /// zero first if they must rise.
    pub(super) fn key(&self, label: String, most: usize, rises: bool) -> Option<Arc<OfKey>> {
        let mut keys = lock(&self.keys);
        if keys.len() >= most && !keys.contains_key(&label) {
            return None;
        }
        let of_key = keys.entry(label).or_insert_with_key(|label| {
            let find = |metric, labels: Labels<'_>| {
                let key = series::key(metric, &self.name, labels);
                self.counters.find(key, rises)
            };
            let key = (series::KEY, &**label);
            Arc::new(OfKey {
                label: label.clone(),
                opened: find(series::KEY_OPENED, &[key]),
                rejections: [Mode::Enforced, Mode::Shadow].map(|mode| {
                    let labels = [key, (series::ENFORCEMENT, mode.name())];
                    find(series::KEY_REJECTIONS, &labels)
                }),
            })
        });
        Some(Arc::clone(of_key))
    }

    pub(super) fn watch(&self, watch: Watch) {
        let mut watches = lock(&self.watches);
        let watches = watches.get_or_insert_default();
        watches.retain(|other| other.of != watch.of);
        watches.push(Arc::new(watch));
    }

    /// The current state of the breakers and registries of that name, if there were any to look at.
    fn look(&self) -> Option<Seen> {
        let watches = lock(&self.watches).clone();
        let breakers = lock(&self.breakers).clone();
        if watches.is_none() && breakers.is_none() {
            return None;
        }
        let mut all = Seen {
            states: breakers.unwrap_or_default(),
            open: BTreeSet::new(),
        };
        // Called without the lock, because looking at a registry may be slow.
        for watch in watches.unwrap_or_default() {
            if !(watch.look)(&mut all) {
                let mut watches = lock(&self.watches);
                let watches = watches.get_or_insert_default();
                watches.retain(|kept| !Arc::ptr_eq(kept, &watch));
            }
        }
        Some(all)
    }

    /// Passes everything to the recorder; new keys stay at zero for that long.
    pub(super) fn publish(&self, recorder: &dyn Recorder, at_zero_for: Duration) {
        if let Some(calls) = self.calls.get() {
            for (end, name) in ENDS.into_iter().enumerate() {
                let key = series::key(series::CALLS, &self.name, &[(series::OUTCOME, name)]);
                series::set_counter(recorder, &key, calls.sum(end));
            }
        }
        self.counters.publish(recorder, at_zero_for);
        if let Some(seen) = self.look() {
            for state in State::ALL.iter().copied().map(state_name) {
                let count = seen.states.get(state).copied().unwrap_or_default();
                let labels = [(series::STATE, state)];
                self.set(recorder, series::BREAKERS, &labels, float(count));
            }
            let labels: Vec<_> = lock(&self.keys).keys().cloned().collect();
            for label in labels.iter().filter(|label| *label != OTHER) {
                let is_open = seen.open.contains(label);
                let labels = [(series::KEY, &**label)];
                self.set(recorder, series::KEY_OPEN, &labels, float(is_open.into()));
            }
        }
        #[cfg(feature = "steps")]
        super::jobs::publish(self, recorder);
    }

    /// Sets a gauge.
    pub(super) fn set(
        &self,
        recorder: &dyn Recorder,
        metric: &'static str,
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
