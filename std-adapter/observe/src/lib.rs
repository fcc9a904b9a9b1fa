//! Logs and metrics of [atomic-breaker](atomic_breaker_std): observers for a breaker, a registry of breakers, or durable
//! jobs.
//!
//! | feature | type | for one breaker | for a registry | for jobs (`steps`) |
//! |---|---|---|---|---|
//! | `tracing` | `Log`: an event for each transition and for a sample of the rejections | `Log` | `Log` | `Log` |
//! | `metrics` | `Metrics`: counters, and gauges of the states | `Metrics` | `Metrics<Keys>` | `Metrics<Jobs>` |
//!
//! A pair is also an observer: `.observer((Log::new("payments"), Metrics::new("payments")))`. The fields of events and the
//! names of metrics are listed in `docs/observability.md` of the repository.
//!
//! | file | what |
//! |---|---|
//! | `words` | the words for states, causes and enforcement |
//! | `by_hash` | what is kept for some of the keys |
//! | `sampler`, `event` | which events are logged; the events themselves |
//! | `log`, `keyed_log`, `job_log` | the observer that logs: a breaker, the keys of a registry, jobs |
//! | `lane`, `calls` | one lane per thread, to count in; the counters of calls |
//! | `series`, `counters`, `meter` | the metrics by name; the other counters; all that is counted under one name |
//! | `metrics`, `one`, `keys`, `jobs` | the observer that counts: a breaker, the keys of a registry, jobs |
//! | `publish` | how the metrics reach the recorder |
#![cfg(target_has_atomic = "64")]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(any(feature = "metrics", feature = "tracing"))]
mod by_hash;
#[cfg(feature = "metrics")]
mod calls;
#[cfg(feature = "metrics")]
mod counters;
#[cfg(feature = "tracing")]
mod event;
#[cfg(all(feature = "steps", feature = "tracing"))]
mod job_log;
#[cfg(all(feature = "steps", feature = "metrics"))]
mod jobs;
#[cfg(feature = "tracing")]
mod keyed_log;
#[cfg(feature = "metrics")]
mod keys;
#[cfg(feature = "metrics")]
mod lane;
#[cfg(feature = "tracing")]
mod log;
#[cfg(feature = "metrics")]
mod meter;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "metrics")]
mod one;
#[cfg(feature = "metrics")]
mod publish;
#[cfg(feature = "tracing")]
mod sampler;
#[cfg(feature = "metrics")]
mod series;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod words;

#[cfg(feature = "metrics")]
pub use self::metrics::{Metrics, Observed};
#[cfg(all(feature = "steps", feature = "metrics"))]
pub use jobs::Jobs;
#[cfg(feature = "metrics")]
pub use keys::Keys;
#[cfg(feature = "tracing")]
pub use log::Log;
#[cfg(feature = "metrics")]
pub use one::One;
#[cfg(feature = "metrics")]
pub use publish::{publish, publish_each_second};

/// The work done under the lock leaves the data consistent.
#[cfg(any(feature = "metrics", all(feature = "steps", feature = "tracing")))]
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The code blocks of the pages are compiled and run.
#[cfg(all(doctest, feature = "metrics", feature = "steps", feature = "tracing"))]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/observability.md")]
    mod observability {}
}
