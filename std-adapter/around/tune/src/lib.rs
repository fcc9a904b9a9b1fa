// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the settings that a circuit breaker should have: replays logs of calls and recommends settings, and plays
//! outages of a kind for your own tests ([`simulate()`]), with the real [`atomic-breaker`](atomic_breaker) on a virtual
//! clock.
//!
//! ```
//! # #[cfg(feature = "replay")] fn main() -> Result<(), atomic_breaker_tune::RegistryError> {
//! use atomic_breaker_tune::{CallLog, Completion, Config, Failure, LoggedCall, Outcome, Replay};
//! use std::time::Duration;
//!
//! // 100 calls a second. The resource is down from the third second to the fifth.
//! let calls = (0..1_000_u64).map(|number| {
//!     let down = (300..500).contains(&number);
//!     let outcome = if down { Failure::new().into() } else { Outcome::Success };
//!     LoggedCall::new(number * 10_000, Completion::new(outcome, Duration::from_millis(20)))
//! });
//! let log = CallLog::new(calls.collect(), Vec::new());
//!
//! let config = Config::new().consecutive_failures(5).open_for(Duration::from_millis(500));
//! let replayed = Replay::new().run(&config, &log)?;
//! assert!(replayed.figures.wasted < 20);
//! # Ok(()) }
//! # #[cfg(not(feature = "replay"))] fn main() {}
//! ```
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | have settings recommended, without a line of code | the command `atomic-breaker-tune` |
//! | record the calls of your program | [`CallRecorder`]; `RecordLayer` for a service of tower |
//! | read a log: CSV, JSON lines, Envoy, Traefik, nginx, spans | `LogReader`, `LogFormat` |
//! | play a log before a breaker | `CallLog`, `Replay` |
//! | play an outage before your settings, in a test | [`simulate()`] with a [`Scenario`]; its [`simulate::engine`] plays the calls of others, too |
//! | search for the best settings | `Recommend`, with the `Weights` of what costs how much |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `replay` | logs from files, their replay, and the search; without it there is only the recorder |
//! | `command`, on unless switched off | the command |
//! | `tower` | `RecordLayer`, the recorder as a layer |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

// The modules, in the order in which to read them:
// - `simulate`: outages of a kind before a breaker; its `engine` plays the calls of others, too
// - `record`: writes a log that can be replayed
// - `log`: calls that were recorded: incidents, the folds around them, cold servers, the ends of keys
// - `read`: logs of calls, from a file
// - `replay`: the calls of a log, before breakers with other settings
// - `recommend`: the search space, the search, and settings checked on incidents that they were not tuned on

#[cfg(feature = "replay")]
mod log;
#[cfg(feature = "replay")]
mod read;
#[cfg(feature = "replay")]
mod recommend;
mod record;
#[cfg(feature = "replay")]
mod replay;
mod simulate;

#[doc(no_inline)]
pub use atomic_breaker::{Config, Failure, Outcome, Ratio, State, Transition};
#[doc(no_inline)]
pub use atomic_breaker_server::RegistryError;
#[cfg(feature = "replay")]
#[doc(no_inline)]
pub use engine::{BreakerScope, Completion};
pub use simulate::{
    ColdServer, Figures, Scenario, SimulationReport, StateChange, engine, simulate,
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
