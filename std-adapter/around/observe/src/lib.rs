// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs and metrics of [atomic-breaker](atomic_breaker_server): observers for a breaker, a registry of breakers,
//! durable jobs, or a fleet.
//!
//! ```
//! # #[cfg(all(feature = "metrics", feature = "tracing"))] {
//! use atomic_breaker_observe::{Log, Metrics};
//! use atomic_breaker_server::{Breaker, Config, StdClock};
//!
//! // A pair of observers is one, too.
//! let payments = Breaker::builder(Config::new(), StdClock)
//!     .observer((Log::new("payments"), Metrics::new("payments")))
//!     .build();
//!
//! // An event of `tracing`, and a counter of `metrics`.
//! payments.trip();
//! # }
//! ```
//!
//! # What it has
//!
//! | feature | type | for one breaker | for a registry | for jobs (`steps`) | for a fleet (`fleet`) |
//! |---|---|---|---|---|---|
//! | `tracing` | `Log`: an event for each transition, and for a sample of the rejections and failures | `Log` | `Log` | `Log` | |
//! | `metrics` | `Metrics`: counters, and gauges of the states | `Metrics` | `Metrics<OfKeys>` | `Metrics<OfJobs>` | `Metrics<OfFleet>` |
//!
//! `Metrics<OfRetries>` shows what became of the tries that failed, of any budget of retries. With the feature `mapped`
//! keys that processes share have metrics, too.
//!
//! # Where to read on
//!
//! The page [docs/observability.md] lists the fields of events and the names of metrics, with a dashboard for Grafana.
#![doc = ""]
#![doc = concat!("[docs/observability.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/std-adapter/around/docs/observability.md")]
#![cfg(target_has_atomic = "64")]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `label`: the labels of states, causes and enforcement
// - `by_hash`: what is kept for some of the keys
// - `log`: the observer that logs
// - `metrics`: the observer that counts

#[cfg(any(feature = "metrics", feature = "tracing"))]
mod by_hash;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod label;
#[cfg(feature = "tracing")]
mod log;
#[cfg(feature = "metrics")]
mod metrics;

#[cfg(all(feature = "metrics", feature = "fleet"))]
pub use self::metrics::OfFleet;
#[cfg(all(feature = "metrics", feature = "steps"))]
pub use self::metrics::OfJobs;
#[cfg(feature = "metrics")]
pub use self::metrics::{
    Metrics, Observed, OfBreaker, OfKeys, OfRetries, publish, publish_each_second,
};
#[cfg(feature = "tracing")]
pub use log::{Log, LogSuccesses};

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
    #[doc = include_str!("../../docs/observability.md")]
    mod observability {}
}
