// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counts under one name.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_server::redact::printable;
use metrics::{Key, Recorder};

use super::series::{self, Counter, Labels, Metric, Page};
use crate::label::OTHER;
use crate::lock;

/// The counts under one name, for the life of the program: counters must not fall, whatever is dropped and created
/// again.
pub(super) struct Meter {
    pub(super) name: String,
    counters: Mutex<BTreeMap<&'static Key, &'static Counter>>,
    parts: Mutex<Vec<&'static dyn Gauges>>,
}

/// The gauges under one name beside its counters: of breakers, of jobs, or of a fleet. At most one of each type.
pub(super) trait Gauges: Any + Send + Sync {
    /// Passes its series to the recorder. Holds no lock meanwhile, because a recorder may be slow, or use a breaker.
    fn publish(&self, page: &Page<'_>);
}

/// All meters, by name.
static METERS: Mutex<BTreeMap<String, &'static Meter>> = Mutex::new(BTreeMap::new());

/// The most names; further ones are counted together.
const MOST_NAMES: usize = 1_000;

pub(super) fn all() -> Vec<&'static Meter> {
    lock(&METERS).values().copied().collect()
}

/// Keeps a value for the life of the program.
pub(super) fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

impl Meter {
    /// The meter of that name, always the same one.
    pub(super) fn of(name: impl fmt::Display) -> &'static Self {
        let mut name = printable(name);
        let mut meters = lock(&METERS);
        if meters.len() >= MOST_NAMES && !meters.contains_key(&name) {
            OTHER.clone_into(&mut name);
        }
        meters.entry(name).or_insert_with_key(|name| {
            keep(Self {
                name: name.clone(),
                counters: Mutex::default(),
                parts: Mutex::default(),
            })
        })
    }

    /// The part of that type, always the same one.
    pub(super) fn part<P: Gauges>(
        &'static self,
        new: impl FnOnce(&'static Self) -> P,
    ) -> &'static P {
        let mut parts = lock(&self.parts);
        let found = parts.iter().find_map(|part| {
            let part: &'static dyn Any = *part;
            part.downcast_ref()
        });
        found.unwrap_or_else(|| {
            let part = keep(new(self));
            parts.push(part);
            part
        })
    }

    /// The counter of that series, always the same one. It is published from now on; as zero first if it `rises`, since
    /// a reader has to see that.
    pub(super) fn counter(
        &self,
        metric: Metric,
        labels: Labels<'_>,
        rises: bool,
    ) -> &'static Counter {
        let key = series::key(metric, &self.name, labels);
        let mut counters = lock(&self.counters);
        if let Some(known) = counters.get(&key) {
            return known;
        }
        let counter = keep(Counter::new(rises));
        counters.insert(keep(key), counter);
        counter
    }

    /// Passes everything to the recorder; new keys stay at zero for that long.
    pub(super) fn publish(&self, recorder: &dyn Recorder, at_zero_for: Duration) {
        let page = Page {
            name: &self.name,
            recorder,
        };
        let counters = lock(&self.counters).clone();
        for (key, counter) in counters {
            page.count(key, counter.value(at_zero_for));
        }
        let parts = lock(&self.parts).clone();
        for part in parts {
            part.publish(&page);
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
