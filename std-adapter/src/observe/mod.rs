//! Logs and metrics: observers for a breaker, or for a registry.
//!
//! | observer | of | feature | what |
//! |---|---|---|---|
//! | `BreakerLog` | a breaker | `tracing` | an event for each transition, and for a sample of the rejections |
//! | `RegistryLog` | a registry | `tracing`, `registry` | the same, with the key |
//! | `BreakerMetrics` | a breaker | `metrics` | counters, and a gauge of the state |
//! | `RegistryMetrics` | a registry | `metrics`, `registry` | the same, and the keys that opened |
//! | `JobLog` | durable steps | `tracing`, `steps` | what an operator must know of jobs |
//! | `JobMetrics` | durable steps | `metrics`, `steps` | what happens to jobs, and how many there are |
//!
//! A pair is also an observer: `.observer((BreakerLog::new("payments"), BreakerMetrics::new("payments")))`. Fields of
//! events and names of metrics are listed in `docs/observability.md` of the repository.
//!
//! | file | what |
//! |---|---|
//! | `text` | the words for states and causes |
//! | `sampler`, `event` | which rejections are logged; the events themselves |
//! | `breaker_log`, `registry_log` | the observers that log |
//! | `lane`, `counts` | one lane per thread, to count in; the counters |
//! | `meter` | what is counted under one name |
//! | `breaker_metrics`, `registry_metrics` | the observers that count |
//! | `job_log`, `job_metrics`, `job_meter` | jobs of durable steps, logged and counted |
//! | `series`, `publish`, `publish_jobs` | the metrics by name; how they reach the recorder |

#[cfg(feature = "metrics")]
mod breaker_metrics;
#[cfg(feature = "metrics")]
mod counts;
#[cfg(all(feature = "metrics", feature = "steps"))]
mod job_meter;
#[cfg(all(feature = "metrics", feature = "steps"))]
mod job_metrics;
#[cfg(feature = "metrics")]
mod lane;
#[cfg(feature = "metrics")]
#[cfg_attr(
    not(feature = "registry"),
    allow(dead_code, reason = "what is counted by key, and read when published")
)]
mod meter;
#[cfg(feature = "metrics")]
mod publish;
#[cfg(all(feature = "metrics", feature = "steps"))]
mod publish_jobs;
#[cfg(all(feature = "metrics", feature = "registry"))]
mod registry_metrics;
#[cfg(feature = "metrics")]
mod series;

#[cfg(feature = "tracing")]
mod breaker_log;
#[cfg(feature = "tracing")]
mod event;
#[cfg(all(feature = "tracing", feature = "steps"))]
mod job_log;
#[cfg(all(feature = "tracing", feature = "registry"))]
mod registry_log;
#[cfg(feature = "tracing")]
mod sampler;

mod text;

#[cfg(feature = "tracing")]
pub use breaker_log::BreakerLog;
#[cfg(feature = "metrics")]
pub use breaker_metrics::BreakerMetrics;
#[cfg(all(feature = "tracing", feature = "steps"))]
pub use job_log::JobLog;
#[cfg(all(feature = "metrics", feature = "steps"))]
pub use job_metrics::JobMetrics;
#[cfg(feature = "metrics")]
pub use publish::{publish, publish_each_second};
#[cfg(all(feature = "tracing", feature = "registry"))]
pub use registry_log::RegistryLog;
#[cfg(all(feature = "metrics", feature = "registry"))]
pub use registry_metrics::RegistryMetrics;

/// The code blocks of the page are compiled and run.
#[cfg(all(
    doctest,
    feature = "metrics",
    feature = "registry",
    feature = "steps",
    feature = "tracing"
))]
mod pages {
    #[doc = include_str!("../../../docs/observability.md")]
    mod observability {}
}
