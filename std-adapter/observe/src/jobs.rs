//! Counts jobs of durable steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_std::steps::{Asked, Counts, Job, JobObserver, Status, Stuck, Tried};
use atomic_breaker_std::words::printable;
use metrics::{KeyName, Recorder, SharedString, Unit};
use tokio::time::Instant;

use super::counters::Counter;
use super::lock;
use super::meter::Meter;
use super::metrics::Metrics;
use super::series::{self, OUTCOME, float};
use super::words::OTHER;

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

/// [`Metrics`] of durable [steps](atomic_breaker_std::steps): what happens to jobs, and how many there are. Pass them to
/// [`StepsBuilder::observer`](atomic_breaker_std::steps::StepsBuilder::observer).
///
/// ```
/// use atomic_breaker_observe::Metrics;
/// use atomic_breaker_std::steps::{Lane, MemoryStore, Steps, Workflow};
/// use metrics_exporter_prometheus::PrometheusBuilder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = PrometheusBuilder::new().build_recorder();
/// let prometheus = recorder.handle();
/// metrics::set_global_recorder(recorder).expect("the only one");
///
/// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| Ok(to));
/// let steps = Steps::builder(MemoryStore::new())
///     .lane(Lane::new("mail"))
///     .workflow(&welcome)
///     .observer(Metrics::new("shop"))
///     .build()?;
/// let worker = steps.work();
/// steps.run(&welcome, "user-7", &"ann@example.com".to_owned()).await?;
///
/// // For each scrape:
/// atomic_breaker_observe::publish();
/// let done = r#"circuit_breaker_job_ended{circuit_breaker_name="shop",circuit_breaker_kind="welcome",circuit_breaker_status="done"} 1"#;
/// assert!(prometheus.render().contains(done));
/// # worker.stop().await;
/// # Ok(()) }
/// ```
///
/// Use one name per store. Several `Steps` with the same name are counted together; of their stores, the one that was
/// asked last is shown.
///
/// The counters cover this process. The gauges, which show how many jobs there are and how long the oldest has been
/// due, cover the store, which each [`Worker`](atomic_breaker_std::steps::Worker) asks when it starts and then every ten
/// seconds; for the cost, see `docs/observability.md` in the repository.
#[derive(Clone)]
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

impl Jobs {
    pub(super) fn new(name: impl fmt::Display) -> Self {
        Self {
            meter: Meter::of(name),
            every: Some(Duration::from_secs(10)),
        }
    }

    /// The counter of a series.
    fn count(&self, metric: &'static str, labels: &[(&'static str, &'static str)]) -> Arc<Counter> {
        let labels = labels.iter().map(|(label, value)| (*label, shown(value)));
        self.meter.counter(metric, labels)
    }

    fn kind(&self, job: &Job) -> (&'static str, &'static str) {
        let stored = lock(&self.meter.jobs.0);
        (KIND, stored.kinds.get(&*job.kind).unwrap_or(&OTHER))
    }

    fn lane(&self, job: &Job) -> (&'static str, &'static str) {
        (LANE, lock(&self.meter.jobs.0).lane(&job.lane))
    }
}

impl JobObserver for Metrics<Jobs> {
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        {
            let mut stored = lock(&self.0.meter.jobs.0);
            stored.kinds.extend(kinds.iter().map(|(kind, _)| *kind));
            stored.lanes.extend(lanes);
        }
        for (kind, lane) in kinds {
            let of_lane = [(KIND, *kind), (LANE, *lane)];
            self.0.count(LOST, &of_lane);
            for how in Tried::ALL {
                self.0
                    .count(TRIES, &[of_lane[0], of_lane[1], (OUTCOME, how.name())]);
            }
        }
        for kind in kinds.iter().map(|(kind, _)| *kind).chain([OTHER]) {
            for status in [Status::Done, Status::Dead, Status::Parked] {
                self.0
                    .count(ENDED, &[(KIND, kind), (STATUS, status.name())]);
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
            lock(&self.0.meter.jobs.0).seen = Some((counts.clone(), until));
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

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Jobs").field(&self.meter).finish()
    }
}

/// The kinds and lanes that the program knows, which are labels, and what the store has.
#[derive(Default)]
pub(super) struct Stored(Mutex<Known>);

#[derive(Default)]
struct Known {
    kinds: BTreeSet<&'static str>,
    lanes: BTreeSet<&'static str>,
    /// The store's last reply, and when it is no longer valid.
    seen: Option<(Counts, Instant)>,
}

impl Known {
    fn lane(&self, lane: &str) -> &'static str {
        self.lanes.get(lane).copied().unwrap_or(OTHER)
    }
}

/// The statuses of jobs that are not over.
const STANDS: [&str; 5] = ["due", "waiting", "running", "parked", "dead"];

impl Stored {
    /// Sets the gauges, if the store has ever replied; to no number if its last reply is too old.
    pub(super) fn publish(&self, meter: &Meter, recorder: &dyn Recorder) {
        let (jobs, oldest) = {
            let known = lock(&self.0);
            let Some((counts, until)) = &known.seen else {
                return;
            };
            let unknown = if Instant::now() <= *until {
                0.0
            } else {
                f64::NAN
            };
            let lanes = known.lanes.iter().copied().chain([OTHER]);
            let mut jobs: BTreeMap<_, _> = lanes
                .flat_map(|lane| STANDS.map(|stand| ((lane, stand), unknown)))
                .collect();
            let mut add = |lane: &str, stand, count| {
                *jobs.entry((known.lane(lane), stand)).or_default() += count;
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
            let oldest = counts.oldest_due.unwrap_or_default().as_secs_f64();
            (jobs, oldest + unknown)
        };
        for ((lane, stand), count) in jobs {
            let labels = [(LANE, shown(lane)), (STATUS, stand.into())];
            meter.set(recorder, JOBS, labels, count);
        }
        meter.set(recorder, OLDEST_DUE, [], oldest);
    }
}

fn shown(name: &str) -> SharedString {
    printable(name).into()
}

/// Describes the metrics.
pub(super) fn describe(recorder: &dyn Recorder) {
    let counters = [
        (TRIES, "Tries of steps, by how they ended."),
        (ENDED, "Jobs that ended in this process, by how."),
        (
            LOST,
            "Claims on jobs that were lost before the result of the step was saved.",
        ),
        (TOLD, "Jobs that a person was notified of, or could not be."),
        (STORE_ERRORS, "Calls of the store that failed or timed out."),
    ];
    let jobs = "How many jobs the store has, by the lane of their next step; not a number when the store does not respond.";
    series::describe(recorder, &counters, &[(JOBS, jobs)]);
    let oldest = "For how many seconds the longest-waiting job has been due; 0 if none is.";
    recorder.describe_gauge(
        KeyName::from(OLDEST_DUE),
        Some(Unit::Seconds),
        oldest.into(),
    );
}
