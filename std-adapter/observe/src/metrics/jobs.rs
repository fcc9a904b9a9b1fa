//! Counts jobs of durable steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{Asked, Counts, Job, JobObserver, Status, Stuck, Tried};
use metrics::{Recorder, Unit};
use tokio::time::Instant;

use super::counters::Counter;
use super::meter::Meter;
use super::series::{self, Described, Labels, OUTCOME, float};
use super::{Metrics, Observed};
use crate::lock;
use crate::words::OTHER;

const JOBS: &str = "circuit_breaker.jobs";
const OLDEST_DUE: &str = "circuit_breaker.job.oldest_due";
const TRIES: &str = "circuit_breaker.job.tries";
const ENDED: &str = "circuit_breaker.job.ended";
const LOST: &str = "circuit_breaker.job.lost";
const TOLD: &str = "circuit_breaker.job.told";
const STORE_ERRORS: &str = "circuit_breaker.job.store_errors";

const KIND: &str = "circuit_breaker.kind";
const LANE: &str = "circuit_breaker.lane";
const STATUS: &str = "circuit_breaker.status";
const OPERATION: &str = "circuit_breaker.operation";

/// [`Metrics`] of durable [steps](atomic_breaker_steps): what happens to jobs, and how many there are. Pass them to
/// [`StepsBuilder::observer`](atomic_breaker_steps::StepsBuilder::observer).
///
/// ```
/// use atomic_breaker_observe::Metrics;
/// use atomic_breaker_steps::{Lane, MemoryStore, Steps, Workflow};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| Ok(to));
/// let steps = Steps::builder(MemoryStore::new())
///     .lane(Lane::new("mail"))
///     .workflow(&welcome)
///     .observer(Metrics::new("shop"))
///     .build()?;
/// # let _ = steps;
/// # Ok(()) }
/// ```
///
/// Use one name per store. Several `Steps` with the same name are counted together; of their stores, the one that was
/// asked last is shown.
///
/// The counters cover this process. The gauges, which show how many jobs there are and how long the oldest has been
/// due, cover the store, which each [`Worker`](atomic_breaker_steps::Worker) asks when it starts and then every ten
/// seconds; for the cost, see `docs/observability.md` in the repository.
#[derive(Clone, Debug)]
pub struct Jobs {
    meter: Arc<Meter>,
    every: Option<Duration>,
}

impl Metrics<Jobs> {
    /// How often each worker asks the store how many jobs there are: 1 s to a day, 10 s unless set.
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

impl Observed for Jobs {
    fn named(name: &dyn fmt::Display) -> Self {
        Self {
            meter: Meter::of(name),
            every: Some(Duration::from_secs(10)),
        }
    }
}

impl Jobs {
    fn count(&self, metric: &'static str, labels: Labels<'_>) -> Arc<Counter> {
        self.meter.counter(metric, labels)
    }

    fn kind(&self, job: &Job) -> (&'static str, &'static str) {
        let stored = lock(&self.meter.jobs);
        (KIND, stored.kinds.get(&*job.kind).unwrap_or(&OTHER))
    }

    fn lane(&self, job: &Job) -> (&'static str, &'static str) {
        (LANE, lock(&self.meter.jobs).lane(&job.lane))
    }
}

impl JobObserver for Metrics<Jobs> {
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        {
            let mut stored = lock(&self.0.meter.jobs);
            stored.kinds.extend(kinds.iter().map(|(kind, _)| *kind));
            stored.lanes.extend(lanes);
        }
        for &(kind, lane) in kinds {
            let [kind, lane] = [(KIND, kind), (LANE, lane)];
            self.0.count(LOST, &[kind, lane]);
            for how in Tried::ALL {
                self.0.count(TRIES, &[kind, lane, (OUTCOME, how.name())]);
            }
        }
        for kind in kinds.iter().map(|(kind, _)| *kind).chain([OTHER]) {
            for status in [Status::Done, Status::Dead, Status::Parked] {
                let status = (STATUS, status.name());
                self.0.count(ENDED, &[(KIND, kind), status]);
            }
            for outcome in ["success", "failure"] {
                self.0.count(TOLD, &[(KIND, kind), (OUTCOME, outcome)]);
            }
        }
        for asked in Asked::ALL {
            self.0.count(STORE_ERRORS, &[(OPERATION, asked.name())]);
        }
    }

    fn count_every(&self) -> Option<Duration> {
        self.0.every
    }

    fn counted(&self, counts: &Counts, valid_for: Duration) {
        if self.0.every.is_some() {
            let until = Instant::now() + valid_for;
            lock(&self.0.meter.jobs).seen = Some((counts.clone(), until));
        }
    }

    fn tried(&self, job: &Job, how: Tried) {
        let labels = [self.0.kind(job), self.0.lane(job), (OUTCOME, how.name())];
        self.0.count(TRIES, &labels).add();
    }

    fn ended(&self, job: &Job, status: Status, _: &str) {
        if matches!(status, Status::Done | Status::Dead | Status::Parked) {
            let labels = [self.0.kind(job), (STATUS, status.name())];
            self.0.count(ENDED, &labels).add();
        }
    }

    fn lost(&self, job: &Job) {
        self.0
            .count(LOST, &[self.0.kind(job), self.0.lane(job)])
            .add();
    }

    fn told(&self, stuck: &Stuck, error: Option<&str>) {
        let outcome = if error.is_none() {
            "success"
        } else {
            "failure"
        };
        let labels = [self.0.kind(&stuck.job), (OUTCOME, outcome)];
        self.0.count(TOLD, &labels).add();
    }

    fn store_failed(&self, asked: Asked, _: &str) {
        self.0
            .count(STORE_ERRORS, &[(OPERATION, asked.name())])
            .add();
    }
}

/// The kinds and lanes that the program knows, which are labels, and what the store has.
#[derive(Default)]
pub(super) struct Stored {
    kinds: BTreeSet<&'static str>,
    lanes: BTreeSet<&'static str>,
    /// The store's last reply, and when it is no longer valid.
    seen: Option<(Counts, Instant)>,
}

impl Stored {
    fn lane(&self, lane: &str) -> &'static str {
        self.lanes.get(lane).unwrap_or(&OTHER)
    }

    /// How many jobs there are, by lane and status.
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

/// Sets the gauges, if the store has ever replied; to no number if its last reply is too old.
pub(super) fn publish(meter: &Meter, recorder: &dyn Recorder) {
    let (jobs, oldest, unknown) = {
        let stored = lock(&meter.jobs);
        let Some((counts, until)) = &stored.seen else {
            return;
        };
        let unknown = if Instant::now() > *until {
            f64::NAN
        } else {
            0.0
        };
        let oldest = counts.oldest_due.unwrap_or_default();
        (stored.jobs(counts), oldest.as_secs_f64(), unknown)
    };
    for ((lane, stand), count) in jobs {
        meter.set(
            recorder,
            JOBS,
            &[(LANE, lane), (STATUS, stand)],
            count + unknown,
        );
    }
    meter.set(recorder, OLDEST_DUE, &[], oldest + unknown);
}

const COUNTERS: Described<'_> = &[
    (TRIES, "Tries of steps, by how they ended."),
    (ENDED, "Jobs that ended in this process, by how."),
    (
        LOST,
        "Claims on jobs that were lost before a result was saved.",
    ),
    (TOLD, "Jobs that a person was notified of, or could not be."),
    (STORE_ERRORS, "Calls of the store that failed or timed out."),
];

const GAUGES: Described<'_> = &[(JOBS, "How many jobs the store has, by their next lane.")];

pub(super) fn describe(recorder: &dyn Recorder) {
    series::describe(recorder, COUNTERS, GAUGES);
    let oldest = "For how many seconds the longest-waiting job has been due; 0 if none is.";
    recorder.describe_gauge(OLDEST_DUE.into(), Some(Unit::Seconds), oldest.into());
}
