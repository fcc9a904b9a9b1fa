// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts jobs of durable steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_steps::{Asked, Counts, Job, JobObserver, Status, Stuck, TryResult};
use tokio::time::Instant;

use super::meter::{Gauges, Meter};
use super::series::{
    ENDED, JOBS, LOST, Labels, Metric, OLDEST_DUE, OUTCOME, Page, STORE_ERRORS, TOLD, TRIES, float,
};
use super::{Metrics, Observed};
use crate::label::OTHER;
use crate::lock;

const KIND: &str = "circuit_breaker.kind";
const LANE: &str = "circuit_breaker.lane";
const STATUS: &str = "circuit_breaker.status";
const OPERATION: &str = "circuit_breaker.operation";

/// [`Metrics`] of durable [steps](atomic_breaker_steps): what happens to jobs, and how many there are. Pass them to
/// [`StepsBuilder::observer`](atomic_breaker_steps::StepsBuilder::observer).
///
/// Use one name per store. Several `Steps` with the same name are counted together; of their stores, the one that was
/// asked last is shown.
///
/// The counters cover this process. The gauges, which show how many jobs there are and how long the oldest has been
/// due, cover the store, which each [`Worker`](atomic_breaker_steps::Worker) asks when it starts and then every ten
/// seconds; for the cost, see `docs/observability.md` in the repository.
#[derive(Clone, Debug)]
pub struct OfJobs {
    meter: &'static Meter,
    stored: &'static Stored,
    every: Option<Duration>,
}

impl Metrics<OfJobs> {
    /// Sets the interval at which each worker asks the store for the number of jobs: 1 s to a day, 10 s unless set.
    #[must_use]
    pub const fn count_every(mut self, interval: Duration) -> Self {
        self.0.every = Some(interval);
        self
    }

    /// Workers do not ask the store how many jobs there are, because other processes do: this process has no gauges.
    #[must_use]
    pub const fn without_gauges(mut self) -> Self {
        self.0.every = None;
        self
    }
}

impl Observed for OfJobs {
    fn named(name: &dyn fmt::Display) -> Self {
        let meter = Meter::of(name);
        Self {
            meter,
            stored: meter.part(|_| Stored::default()),
            every: Some(Duration::from_secs(10)),
        }
    }
}

impl OfJobs {
    fn add(&self, metric: Metric, labels: Labels<'_>) {
        self.meter.counter(metric, labels, false).add();
    }

    fn kind(&self, job: &Job) -> (&'static str, &'static str) {
        let stored = lock(&self.stored.0);
        (KIND, stored.kinds.get(&*job.kind).unwrap_or(&OTHER))
    }

    fn lane(&self, job: &Job) -> (&'static str, &'static str) {
        (LANE, lock(&self.stored.0).lane(&job.lane))
    }
}

/// The statuses with which jobs end in this process.
const ENDS: [Status; 3] = [Status::Done, Status::Dead, Status::Parked];

impl JobObserver for Metrics<OfJobs> {
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        let declare = |metric, labels: Labels<'_>| {
            // An alert has to see the end of a job, even one that ended before the first scrape.
            let rises = metric == ENDED;
            self.0.meter.counter(metric, labels, rises);
        };
        {
            let mut stored = lock(&self.0.stored.0);
            stored.kinds.extend(kinds.iter().map(|(kind, _)| *kind));
            stored.lanes.extend(lanes);
        }
        let count = |kind, lane, tried: &[TryResult]| {
            let [kind, lane] = [(KIND, kind), (LANE, lane)];
            declare(LOST, &[kind, lane]);
            for how in tried {
                declare(TRIES, &[kind, lane, (OUTCOME, how.name())]);
            }
        };
        for &(kind, lane) in kinds {
            count(kind, lane, &TryResult::ALL);
        }
        // A worker also claims jobs of kinds that it does not know. It cannot run them, but finds those whose worker was
        // lost.
        for lane in lanes.iter().chain([&OTHER]) {
            count(OTHER, lane, &[TryResult::Lapsed]);
        }
        for kind in kinds.iter().map(|(kind, _)| *kind).chain([OTHER]) {
            for status in ENDS {
                declare(ENDED, &[(KIND, kind), (STATUS, status.name())]);
            }
            for outcome in ["success", "failure"] {
                declare(TOLD, &[(KIND, kind), (OUTCOME, outcome)]);
            }
        }
        for asked in Asked::ALL {
            declare(STORE_ERRORS, &[(OPERATION, asked.name())]);
        }
    }

    fn count_every(&self) -> Option<Duration> {
        self.0.every
    }

    fn counted(&self, counts: &Counts, valid_for: Duration) {
        if self.0.every.is_some() {
            let until = Instant::now() + valid_for;
            lock(&self.0.stored.0).seen = Some((counts.clone(), until));
        }
    }

    fn tried(&self, job: &Job, how: TryResult) {
        let labels = [self.0.kind(job), self.0.lane(job), (OUTCOME, how.name())];
        self.0.add(TRIES, &labels);
    }

    fn ended(&self, job: &Job, status: Status, _: &str) {
        if ENDS.contains(&status) {
            let labels = [self.0.kind(job), (STATUS, status.name())];
            self.0.add(ENDED, &labels);
        }
    }

    fn lost(&self, job: &Job) {
        self.0.add(LOST, &[self.0.kind(job), self.0.lane(job)]);
    }

    fn told(&self, stuck: &Stuck, error: Option<&str>) {
        let outcome = error.map_or("success", |_| "failure");
        let labels = [self.0.kind(&stuck.job), (OUTCOME, outcome)];
        self.0.add(TOLD, &labels);
    }

    fn store_failed(&self, asked: Asked, _: &str) {
        self.0.add(STORE_ERRORS, &[(OPERATION, asked.name())]);
    }
}

/// The known numbers of a name's jobs.
#[derive(Debug, Default)]
struct Stored(Mutex<KnownJobs>);

/// The kinds and lanes that the program knows, which are labels, and what the store has.
#[derive(Debug, Default)]
struct KnownJobs {
    kinds: BTreeSet<&'static str>,
    lanes: BTreeSet<&'static str>,
    /// The store's last reply, and when it is no longer valid.
    seen: Option<(Counts, Instant)>,
}

impl KnownJobs {
    fn lane(&self, lane: &str) -> &'static str {
        self.lanes.get(lane).unwrap_or(&OTHER)
    }

    /// The number of jobs by lane and status.
    fn jobs(&self, counts: &Counts) -> BTreeMap<(&'static str, &'static str), f64> {
        let lanes = self.lanes.iter().chain([&OTHER]);
        let zero = lanes.flat_map(|lane| STANDS.map(|stand| ((*lane, stand), 0.0)));
        let mut jobs: BTreeMap<_, _> = zero.collect();
        let mut add = |lane: &str, stand, count| {
            *jobs.entry((self.lane(lane), stand)).or_default() += count;
        };
        for (lane, status, count) in &counts.jobs {
            if !matches!(status, Status::Done | Status::Cancelled) {
                add(lane, status.name(), float(*count));
            }
        }
        for (lane, due) in &counts.due {
            add(lane, "due", float(*due));
            add(lane, "waiting", -float(*due));
        }
        jobs
    }
}

/// The statuses of jobs that are not over.
const STANDS: [&str; 5] = ["due", "waiting", "running", "parked", "dead"];

impl Gauges for Stored {
    /// Sets the gauges, if the store has ever replied; to no number if its last reply is too old.
    fn publish(&self, page: &Page<'_>) {
        let (jobs, oldest, until) = {
            let stored = lock(&self.0);
            let Some((counts, until)) = &stored.seen else {
                return;
            };
            let oldest = counts.oldest_due.unwrap_or_default();
            (stored.jobs(counts), oldest.as_secs_f64(), *until)
        };
        let is_old = Instant::now() > until;
        let set = |metric, labels: Labels<'_>, value| {
            let value = if is_old { f64::NAN } else { value };
            page.gauge(metric, labels, value);
        };
        for ((lane, stand), count) in jobs {
            set(JOBS, &[(LANE, lane), (STATUS, stand)], count);
        }
        set(OLDEST_DUE, &[], oldest);
    }
}
