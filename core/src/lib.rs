//! A circuit breaker whose whole state is **one atomic word**: lock-free, `no_std`, no allocation.
//!
//! It stops a program from hammering something that is failing: after enough failures it refuses
//! calls at once (open), later lets a few probes through (half-open), and closes when they succeed.
//! A call that passes a closed breaker and succeeds costs two loads and no write, so any number of
//! threads, cores and interrupt handlers share one breaker without contention.
//!
//! ```
//! use atomic_breaker::{Breaker, Config, Fallback, ManualClock};
//! use core::time::Duration;
//!
//! // On a server: `StdClock` of atomic-breaker-std. On a microcontroller: `EmbassyClock` of
//! // atomic-breaker-embassy, or your millisecond counter.
//! static CLOCK: ManualClock = ManualClock::new();
//! static SENSOR: Breaker<&ManualClock> = Breaker::new(
//!     Config::new().consecutive_failures(3).open_for(Duration::from_secs(2)),
//!     &CLOCK,
//! );
//!
//! # fn read_sensor() -> Result<u16, ()> { Ok(7) }
//! let value = SENSOR.call(read_sensor).or_if_rejected(|_| Ok(0));
//! # assert_eq!(value, Ok(7));
//! ```
//!
//! # The way of a call
//!
//! ```text
//!             closed: one load                       closed and clear: one load
//! acquire() ───────────────────► Permit ─► call ─► success() ───────────────► done
//!     │                            │                   │ failure(), report()
//!     │ otherwise, cold            │ drop              ▼
//!     ▼                            ▼              ┌─────────┐  ┌─────────────────────────┐
//! clock ─► machine ─► one compare-and-swap ◄──────│ machine │  │ transition ─► Observer  │
//!     │                     └──────────────────────────────────►                         │
//!     ▼                                           └─────────┘  └─────────────────────────┘
//! Rejected { retry_in }
//! ```
//!
//! The modules, in that order:
//!
//! | module | what |
//! |---|---|
//! | [`clock`] | where the time comes from |
//! | [`config`] | the rules, checked against the word |
//! | [`word`] | the atomic word, its layouts, the memory orderings |
//! | `time`, `circuit` | times that wrap; the word as a value |
//! | [`state`] | the life cycle |
//! | `breaker` | [`Breaker`] and how to make one |
//! | `acquire`, `permit`, `token` | the way in; [`Permit`] and, on its way elsewhere, [`Token`] |
//! | `call` | `call` and `call_async` around them; [`Fallback`] |
//! | [`outcome`] | what is reported, and classifiers |
//! | `settle` | the way out: what a report changes |
//! | [`tally`] | memory beside the word: [`LastCalls`] |
//! | `machine` | one pure function per arrow of the life cycle |
//! | `apply` | the one compare-and-swap loop |
//! | [`observer`] | who is told: [`Transition`], [`Cause`], `EventLog` |
//! | `control`, `snapshot` | the operator's commands; [`Snapshot`] |
//!
//! # Limits
//!
//! - Epochs wrap: a permit that lives through exactly 512 transitions (16 in a 32-bit word), or a
//!   multiple, is taken for a new one. Where one probe is in flight at a time (the default), a probe
//!   must match in time, too.
//! - Times wrap: after 49.7 days (35 minutes in a 32-bit word with its default tick). A breaker that
//!   opened and was not called since reads a time just after the wrap as just after it opened, and
//!   refuses for its open time once more. It never admits early.
//! - Counts end: failures at 65 535 (255), probes at 255 (15), trips in a row at 31 (7), open time
//!   at 24.8 days (17.5 minutes). A configuration beyond is refused when it is built.
//! - A window of failures is a tumbling one: it starts with its first failure, so up to twice the
//!   limit less one can fall into a span of its length.
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
#![no_std]
#![forbid(unsafe_code)]

mod acquire;
mod apply;
mod breaker;
mod call;
mod circuit;
pub mod clock;
pub mod config;
mod control;
mod error;
#[cfg(feature = "heapless")]
mod event_log;
mod machine;
pub mod observer;
pub mod outcome;
mod permit;
mod settle;
mod snapshot;
pub mod state;
pub mod tally;
mod time;
mod token;
pub mod word;

pub use breaker::Breaker;
pub use call::Fallback;
pub use clock::{Clock, ManualClock};
pub use config::{Config, ConfigError};
pub use error::{CallError, CorruptWord, Rejected};
#[cfg(feature = "heapless")]
pub use event_log::EventLog;
pub use observer::{Cause, Observer, Transition};
pub use outcome::{AnyError, Classify, Failure, Outcome};
pub use permit::Permit;
pub use snapshot::Snapshot;
pub use state::State;
pub use tally::{LastCalls, Tally, Verdict};
pub use token::Token;

#[cfg(test)]
extern crate std;
