//! Which settings should a circuit breaker have? Simulates scenarios, replays logs and recommends settings, with the real
//! [`atomic-breaker`](atomic_breaker) on a virtual clock.
//!
//! | module | contents |
//! |---|---|
//! | `call` | a call of a log, and how calls end |
//! | `clock` | the clock of a run |
//! | `guard` | the breakers of a run |
//! | `engine` | a run: calls begin and end in the order of time |
//! | `cold` | a resource that is back, and cannot bear the whole load yet |
//! | `callers` | callers that wait for their call before they make the next one |
//! | `ends` | breakers that are still open when their key has no more calls |
//! | `figures` | what a run costs |
//! | `incident` | when the resource was down |
//! | `parts` | the parts of a log around its incidents |
//! | `log` | calls that were recorded |
//! | `replay` | the calls of a log, before breakers with other settings |
//! | `simulate` | outages of a kind, for a user's own tests |
//! | `record` | writes a log that can be replayed |
//! | `timeline` | what became of the calls of a stretch of time |
//! | `settings` | settings as text to paste |
//! | `read` | logs of calls, from a file |
//! | `space` | the settings among which the search chooses |
//! | `search` | tries settings, and goes on from the best |
//! | `recommend` | one of them, checked on incidents that it was not tuned on |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

mod call;
mod callers;
mod clock;
mod cold;
mod ends;
mod engine;
mod figures;
mod guard;
mod incident;
mod log;
#[cfg(feature = "replay")]
mod parts;
#[cfg(feature = "replay")]
mod read;
#[cfg(feature = "replay")]
mod recommend;
mod record;
mod replay;
#[cfg(feature = "replay")]
mod search;
mod settings;
mod simulate;
#[cfg(feature = "replay")]
mod space;
mod timeline;

#[doc(no_inline)]
pub use atomic_breaker::{Config, Ratio, State, Transition};
#[doc(no_inline)]
pub use atomic_breaker_server::RegistryError;
pub use call::{Call, Ending, Met};
pub use cold::ColdServer;
pub use figures::Figures;
pub use guard::{Change, Keys};
pub use incident::Incident;
pub use log::Log;
#[cfg(feature = "replay")]
pub use read::{
    Column, Format, OtherUnit, ReadError, ReadLog, Reading, Skipped, Stream, Unit, Words,
};
#[cfg(feature = "replay")]
pub use recommend::{
    NoRecommendation, Outage, Progress, Recommend, Recommendation, Tried, Weights,
};
#[cfg(feature = "tower")]
pub use record::{RecordFuture, RecordLayer, RecordService};
pub use record::{RecordSummary, Recorder, RecorderBuilder, Recording, Seen};
pub use replay::{Replay, Replayed};
pub use settings::builder_line;
pub use simulate::{Report, Scenario, simulate};
pub use timeline::{Moment, Timeline};

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
