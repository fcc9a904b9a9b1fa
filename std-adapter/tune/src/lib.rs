// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which settings should a circuit breaker have? Replays logs of calls and recommends settings, with the real
//! [`atomic-breaker`](atomic_breaker) on a virtual clock. Outages of a kind, for your own tests, are in
//! [`atomic-breaker-simulate`](atomic_breaker_simulate).
//!
//! | module | contents |
//! |---|---|
//! | `record` | writes a log that can be replayed |
//! | `log` | calls that were recorded: incidents, the folds around them, cold servers, the ends of keys |
//! | `read` | logs of calls, from a file |
//! | `replay` | the calls of a log, before breakers with other settings |
//! | `recommend` | the search space, the search, and settings checked on incidents that they were not tuned on |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

#[cfg(feature = "replay")]
mod log;
#[cfg(feature = "replay")]
mod read;
#[cfg(feature = "replay")]
mod recommend;
mod record;
#[cfg(feature = "replay")]
mod replay;

#[cfg(feature = "replay")]
#[doc(no_inline)]
pub use {
    atomic_breaker::{Config, Failure, Outcome, Ratio, State, Transition},
    atomic_breaker_server::RegistryError,
    atomic_breaker_simulate::engine::{BreakerScope, Completion},
    atomic_breaker_simulate::{ColdServer, Figures, StateChange},
};

#[cfg(feature = "replay")]
pub use {
    log::{AnswerTimes, CallLog, Incident, LoggedCall},
    read::{
        Column, LogFormat, LogReader, LogStream, ReadError, ReadLog, ReadSummary, TimeUnit,
        UnitDoubt, WordCounts,
    },
    recommend::{
        Evaluation, NoRecommendation, OutageCost, Recommend, Recommendation, Weights, builder_line,
    },
    replay::{Replay, ReplayTimeline, Replayed},
};

pub use record::{CallRecorder, CallRecorderBuilder, RecordSummary, RecordedOutcome, Recording};
#[cfg(feature = "tower")]
pub use record::{RecordFuture, RecordLayer, RecordService};

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
