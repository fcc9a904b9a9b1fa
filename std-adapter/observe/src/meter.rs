//! What is counted under one name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use atomic_breaker_std::words::printable;
use atomic_breaker_std::{Cause, State};
use metrics::{Recorder, SharedString};

use super::calls::{Calls, End};
use super::counters::{Counter, Counters};
use super::lock;
use super::series::{self, float};
use super::words::{Mode, OTHER, cause_name, state_name};

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
    pub(super) jobs: super::jobs::Stored,
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
    /// Returns the registry's current state; `None` once it is gone.
    pub(super) look: Box<dyn Fn() -> Option<Seen> + Send + Sync>,
}

/// The current state of a registry.
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

// As the documentation of `Metrics` says.
const _: () = assert!(size_of::<Calls>() <= 17_000);

/// The transitions that breakers usually make, which are published even before the first one.
const USUAL: [(State, &[Cause]); 6] = [
    (
        State::Closed,
        &[
            Cause::ProbesSucceeded,
            Cause::TrafficReturned,
            Cause::Manual,
            Cause::CorruptWord,
        ],
    ),
    (
        State::Open,
        &[
            Cause::FailureLimit,
            Cause::FailureRatio,
            Cause::TripDemanded,
            Cause::RetryAfter,
            Cause::ProbeFailed,
            Cause::ProbeCancelled,
            Cause::Manual,
        ],
    ),
    (
        State::HalfOpen,
        &[Cause::OpenTimeOver, Cause::ProbeLost, Cause::Manual],
    ),
    (State::Returning, &[Cause::ProbesSucceeded]),
    (State::ForcedOpen, &[Cause::Manual]),
    (State::Disabled, &[Cause::Manual]),
];

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
            for (to, causes) in USUAL {
                for cause in causes {
                    self.transitions(to, *cause);
                }
            }
            Arc::default()
        });
        Arc::clone(calls)
    }

    pub(super) fn counter(
        &self,
        metric: &'static str,
        labels: impl IntoIterator<Item = (&'static str, SharedString)>,
    ) -> Arc<Counter> {
        let key = series::key(metric, &self.name, labels);
        self.counters.find(key, false)
    }

    pub(super) fn transitions(&self, to: State, cause: Cause) -> Arc<Counter> {
        let (state, cause) = (state_name(to), cause_name(cause));
        let labels = [(series::STATE, state.into()), (series::CAUSE, cause.into())];
        self.counter(series::TRANSITIONS, labels)
    }

    /// By mode, in its order.
    pub(super) fn rejections(&self) -> [Arc<Counter>; Mode::ALL.len()] {
        Mode::ALL.map(|mode| {
            let labels = [(series::ENFORCEMENT, mode.name().into())];
            self.counter(series::REJECTIONS, labels)
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
            let of_key = || (series::KEY, label.clone().into());
            let find = |key| self.counters.find(key, rises);
            Arc::new(OfKey {
                label: label.clone(),
                opened: find(series::key(series::KEY_OPENED, &self.name, [of_key()])),
                rejections: [Mode::Enforced, Mode::Shadow].map(|mode| {
                    let labels = [of_key(), (series::ENFORCEMENT, mode.name().into())];
                    find(series::key(series::KEY_REJECTIONS, &self.name, labels))
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
            if let Some(mut seen) = (watch.look)() {
                for (state, count) in seen.states {
                    *all.states.entry(state).or_default() += count;
                }
                all.open.append(&mut seen.open);
            } else if let Some(watches) = &mut *lock(&self.watches) {
                watches.retain(|kept| !Arc::ptr_eq(kept, &watch));
            }
        }
        Some(all)
    }

    /// Passes everything to the recorder; new keys stay at zero for that long.
    pub(super) fn publish(&self, recorder: &dyn Recorder, at_zero_for: Duration) {
        if let Some(calls) = self.calls.get() {
            for end in End::ALL {
                let labels = [(series::OUTCOME, end.name().into())];
                let key = series::key(series::CALLS, &self.name, labels);
                series::set_counter(recorder, &key, calls.sum(end));
            }
        }
        self.counters.publish(recorder, at_zero_for);
        if let Some(seen) = self.look() {
            for state in State::ALL.iter().copied().map(state_name) {
                let count = seen.states.get(state).copied().unwrap_or_default();
                self.set(
                    recorder,
                    series::BREAKERS,
                    [(series::STATE, state.into())],
                    float(count),
                );
            }
            let mut labels: Vec<_> = lock(&self.keys).keys().cloned().collect();
            labels.retain(|label| label != OTHER);
            for label in labels {
                let is_open = float(seen.open.contains(&label).into());
                self.set(
                    recorder,
                    series::KEY_OPEN,
                    [(series::KEY, label.into())],
                    is_open,
                );
            }
        }
        #[cfg(feature = "steps")]
        self.jobs.publish(self, recorder);
    }

    /// Sets a gauge.
    pub(super) fn set(
        &self,
        recorder: &dyn Recorder,
        metric: &'static str,
        labels: impl IntoIterator<Item = (&'static str, SharedString)>,
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
