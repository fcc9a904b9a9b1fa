//! Counts jobs of durable steps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::job_meter::JobMeter;
use crate::printable;

/// Counts what happens to jobs of durable [steps](crate::steps), and how many there are, for the `metrics` facade. Pass
/// it to [`StepsBuilder::metrics`](crate::steps::StepsBuilder::metrics).
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
///     .metrics(JobMetrics::new("shop"))
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
    name: String,
    every: Option<Duration>,
}

impl JobMetrics {
    /// Counts under that name: its first 128 bytes, with control characters escaped. Use one name per store. Several
    /// `Steps` with the same name are counted together; of their stores, the one that was asked last is shown.
    pub fn new(name: impl fmt::Display) -> Self {
        Self {
            name: printable(name),
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

    /// Whether the interval is within its range.
    pub(crate) fn is_valid(&self) -> bool {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        self.every
            .is_none_or(|every| (Duration::from_secs(1)..=DAY).contains(&every))
    }

    /// The meter to count in, at zero for each of these kinds with their lanes.
    pub(crate) fn meter(
        &self,
        kinds: &[(&'static str, Vec<&'static str>)],
        lanes: &[&'static str],
    ) -> (Arc<JobMeter>, Option<Duration>) {
        let meter = JobMeter::of(&self.name);
        meter.register(kinds, lanes);
        (meter, self.every)
    }
}
