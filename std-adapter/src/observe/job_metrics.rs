//! Counts jobs of durable steps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::job_meter::JobMeter;
use crate::steps::{Asked, Counts, Job, JobObserver, Status, Stuck, Tried};
use crate::words::printable;

/// Counts what happens to jobs of durable [steps](crate::steps), and how many there are, for the `metrics` facade. Pass
/// it to [`StepsBuilder::observer`](crate::steps::StepsBuilder::observer).
///
/// ```
/// use atomic_breaker_std::observe::{self, JobMetrics};
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
///     .observer(JobMetrics::new("shop"))
///     .build()?;
/// let worker = steps.work();
/// steps.run(&welcome, "user-7", &"ann@example.com".to_owned()).await?;
///
/// // For each scrape:
/// observe::publish();
/// let done = r#"circuit_breaker_job_ended{circuit_breaker_name="shop",circuit_breaker_kind="welcome",circuit_breaker_status="done"} 1"#;
/// assert!(prometheus.render().contains(done));
/// # worker.stop().await;
/// # Ok(()) }
/// ```
///
/// The counters cover this process. The gauges, which show how many jobs there are and how long the oldest has been
/// due, cover the store, which each [`Worker`](crate::steps::Worker) asks when it starts and then every ten seconds;
/// for the cost, see `docs/observability.md` in the repository.
#[derive(Clone, Debug)]
pub struct JobMetrics {
    meter: Arc<JobMeter>,
    every: Option<Duration>,
}

impl JobMetrics {
    /// Counts under that name: its first 128 bytes, with control characters escaped. Use one name per store. Several
    /// `Steps` with the same name are counted together; of their stores, the one that was asked last is shown.
    pub fn new(name: impl fmt::Display) -> Self {
        Self {
            meter: JobMeter::of(&printable(name)),
            every: Some(Duration::from_secs(10)),
        }
    }

    /// How often each worker asks the store how many jobs there are: 1 s to a day, 10 s unless set.
    #[must_use]
    pub const fn count_every(mut self, interval: Duration) -> Self {
        self.every = Some(interval);
        self
    }

    /// Workers do not ask the store how many jobs there are, because other processes do: this process has no gauges.
    #[must_use]
    pub const fn without_gauges(mut self) -> Self {
        self.every = None;
        self
    }
}

impl JobObserver for JobMetrics {
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        self.meter.register(kinds, lanes);
    }

    fn count_every(&self) -> Option<Duration> {
        self.every
    }

    fn counted(&self, counts: &Counts, valid_for: Duration) {
        if self.every.is_some() {
            self.meter.see(counts.clone(), valid_for);
        }
    }

    fn tried(&self, job: &Job, how: Tried) {
        self.meter.tried(&job.kind, &job.lane, how);
    }

    fn ended(&self, job: &Job, status: Status, _: &str) {
        self.meter.ended(&job.kind, status);
    }

    fn lost(&self, job: &Job) {
        self.meter.lost(&job.kind, &job.lane);
    }

    fn told(&self, stuck: &Stuck, error: Option<&str>) {
        self.meter.told(&stuck.job.kind, error.is_none());
    }

    fn store_failed(&self, asked: Asked, _: &str) {
        self.meter.store_failed(asked);
    }
}
