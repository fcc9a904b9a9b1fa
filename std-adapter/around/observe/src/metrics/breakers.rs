// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counts and gauges of breakers under one name: single ones, and keys of registries.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use atomic_breaker_server::{Cause, State, Transition};

use super::calls::{Calls, ENDS};
use super::down::{self, DownSince, Standing, Unlabelled};
use super::meter::{Gauges, Meter, keep};
use super::series::{self, Counter, Page, float};
use crate::label::{Mode, OTHER, label};
use crate::lock;

/// The breakers of a name.
pub(super) struct BreakerCounts {
    pub(super) meter: &'static Meter,
    pub(super) calls: Calls,
    /// The rejections by mode, in its order.
    pub(super) rejections: [&'static Counter; Mode::ALL.len()],
    keys: Mutex<BTreeMap<String, &'static KeyCounts>>,
    pub(super) unlabelled: Unlabelled,
    /// The single breakers and the registries that are watched, by their addresses, if there ever was one.
    watches: Mutex<Option<BTreeMap<usize, Arc<LookAt>>>>,
    /// Set if there ever was a single breaker.
    has_single: OnceLock<()>,
}

/// The counts of a key that has a label.
pub(super) struct KeyCounts {
    pub(super) opened: &'static Counter,
    /// Enforced, and in shadow mode: for each rejection by a registry it is known which.
    pub(super) rejections: [&'static Counter; 2],
    pub(super) down_since: DownSince,
}

/// Adds the current state of a breaker or registry; `None` once it is gone.
type LookAt = dyn Fn(&mut Looked) -> Option<()> + Send + Sync;

/// The current state of all that is watched.
#[derive(Default)]
pub(super) struct Looked {
    states: HashMap<State, u64>,
    /// The time since which the first of the single breakers that are down has been so.
    first_down: Option<u64>,
    /// Keys that reject, as they are written in labels.
    pub(super) down: BTreeSet<String>,
}

impl Looked {
    pub(super) fn add(&mut self, state: State) {
        *self.states.entry(state).or_default() += 1;
    }

    fn add_single(&mut self, standing: &Standing) {
        let (state, since) = standing.get();
        self.add(state);
        if since != 0 {
            self.first_down = Some(self.first_down.map_or(since, |first| first.min(since)));
        }
    }
}

/// The states that breakers usually enter for that reason: these transitions are published even before the first one.
const fn usual(cause: Cause) -> &'static [State] {
    match cause {
        Cause::FailureLimit
        | Cause::FailureRatio
        | Cause::SlowRatio
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

impl BreakerCounts {
    /// The breakers of that name, always the same ones. From now on their counters and the usual transitions are
    /// published, at zero before anything happens.
    pub(super) fn of(name: impl fmt::Display) -> &'static Self {
        Meter::of(name).part(|meter| {
            let rejections = Mode::ALL.map(|mode| {
                let labels = [(series::ENFORCEMENT, &*label(mode))];
                meter.counter(series::REJECTIONS, &labels, false)
            });
            let breakers = Self {
                meter,
                calls: Calls::default(),
                rejections,
                keys: Mutex::default(),
                unlabelled: Unlabelled::default(),
                watches: Mutex::default(),
                has_single: OnceLock::new(),
            };
            for &cause in Cause::ALL {
                for &to in usual(cause) {
                    breakers.transitions(to, cause);
                }
            }
            breakers
        })
    }

    fn transitions(&self, to: State, cause: Cause) -> &'static Counter {
        let (to, cause) = (label(to), label(cause));
        let labels = [(series::STATE, &*to), (series::CAUSE, &*cause)];
        self.meter.counter(series::TRANSITIONS, &labels, false)
    }

    pub(super) fn count(&self, transition: &Transition) {
        self.transitions(transition.to, transition.cause).add();
    }

    /// The counters of the key with that text as label; new ones if fewer than `most` keys have a label. They are
    /// published as zero first if they must rise.
    pub(super) fn key(&self, text: String, most: usize, rises: bool) -> Option<&'static KeyCounts> {
        let mut keys = lock(&self.keys);
        if keys.len() >= most && !keys.contains_key(&text) {
            return None;
        }
        let counts = keys.entry(text).or_insert_with_key(|text| {
            let key = (series::KEY, &**text);
            keep(KeyCounts {
                opened: self.meter.counter(series::KEY_OPENED, &[key], rises),
                rejections: [Mode::Enforced, Mode::Shadow].map(|mode| {
                    let labels = [key, (series::ENFORCEMENT, &*label(mode))];
                    self.meter.counter(series::KEY_REJECTIONS, &labels, rises)
                }),
                down_since: DownSince::default(),
            })
        });
        Some(counts)
    }

    /// Watches a single breaker, until it is dropped and no longer [watched](Self::unwatch).
    pub(super) fn watch_single(&self) -> Arc<Standing> {
        let standing = Arc::new(Standing::up());
        let weak = Arc::downgrade(&standing);
        self.has_single.get_or_init(|| ());
        self.watch(weak.as_ptr().addr(), move |looked| {
            looked.add_single(&*weak.upgrade()?);
            Some(())
        });
        standing
    }

    /// Looks the state up from now on, instead of waiting for a notification. `None` once the breaker is gone: its last
    /// state is nobody's, even if its metrics are shared and stay.
    pub(super) fn look_up(
        &self,
        standing: &Arc<Standing>,
        state: impl Fn() -> Option<State> + Send + Sync + 'static,
    ) {
        let weak = Arc::downgrade(standing);
        self.watch(weak.as_ptr().addr(), move |looked| {
            let (standing, state) = (weak.upgrade()?, state()?);
            standing.note(|| state);
            looked.add_single(&standing);
            Some(())
        });
    }

    /// Watches what is at that address.
    pub(super) fn watch(
        &self,
        address: usize,
        look: impl Fn(&mut Looked) -> Option<()> + Send + Sync + 'static,
    ) {
        let mut watches = lock(&self.watches);
        let watches = watches.get_or_insert_default();
        watches.insert(address, Arc::new(look));
    }

    pub(super) fn unwatch(&self, address: usize) {
        if let Some(watches) = &mut *lock(&self.watches) {
            watches.remove(&address);
        }
    }

    /// The breakers that are watched, if there ever was one.
    fn look(&self) -> Option<Looked> {
        let watches = lock(&self.watches).clone()?;
        let mut looked = Looked::default();
        // Called without the lock, because looking at a registry may be slow.
        for look in watches.values() {
            if look(&mut looked).is_none() {
                let mut watches = lock(&self.watches);
                let watches = watches.get_or_insert_default();
                watches.retain(|_, kept| !Arc::ptr_eq(kept, look));
            }
        }
        Some(looked)
    }

    /// The number of times that each key was noted to be down or up.
    fn times_noted(&self) -> BTreeMap<String, u64> {
        let keys = lock(&self.keys).clone().into_iter();
        keys.map(|(label, counts)| (label, counts.down_since.times()))
            .collect()
    }

    /// Sets the gauges of the keys, of which these were down at a look that began after so many notes.
    fn publish_keys(
        &self,
        page: &Page<'_>,
        times: &BTreeMap<String, u64>,
        down: &BTreeSet<String>,
    ) {
        let set = |label: &str, since| {
            let labels = [(series::KEY, label)];
            page.gauge(series::KEY_OPEN, &labels, float((since != 0).into()));
            page.gauge(series::KEY_DOWN_SINCE, &labels, down::seconds(since));
        };
        let keys = lock(&self.keys).clone();
        for (label, counts) in keys.iter().filter(|(label, _)| *label != OTHER) {
            // What happened without a notification is noted here.
            let since = counts
                .down_since
                .note_look(times.get(label), down.contains(label));
            set(label, since);
        }
        if keys.contains_key(OTHER) {
            let has_label = |key: &String| key != OTHER && keys.contains_key(key);
            let unlabelled = down.iter().filter(|key| !has_label(key));
            set(OTHER, self.unlabelled.note(unlabelled));
        }
    }
}

impl Gauges for BreakerCounts {
    fn publish(&self, page: &Page<'_>) {
        for (end, name) in ENDS.iter().enumerate() {
            let labels = [(series::OUTCOME, *name)];
            page.counter(series::CALLS, &labels, self.calls.sum(end));
        }
        let times = self.times_noted();
        let Some(looked) = self.look() else {
            return;
        };
        for state in State::ALL {
            let count = looked.states.get(state).copied().unwrap_or_default();
            let labels = [(series::STATE, &*label(state))];
            page.gauge(series::BREAKERS, &labels, float(count));
        }
        if self.has_single.get().is_some() {
            let since = down::seconds(looked.first_down.unwrap_or_default());
            page.gauge(series::DOWN_SINCE, &[], since);
        }
        self.publish_keys(page, &times, &looked.down);
    }
}
