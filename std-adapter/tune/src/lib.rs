//! Which settings should a circuit breaker have? Simulates scenarios, replays logs and recommends settings, with the real
//! [`atomic-breaker`](atomic_breaker) on a virtual clock.
//!
//! | module | contents |
//! |---|---|
//! | `call` | a call of a log, and how calls end |
//! | `clock` | the clock of a run |
//! | `guard` | the breakers of a run |
//! | `engine` | a run: calls begin and end in the order of time |
//! | `callers` | callers that wait for their call before they make the next one |
//! | `figures` | what a run costs |
//! | `log` | calls that were recorded |
//! | `replay` | the calls of a log, before breakers with other settings |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

mod call;
mod callers;
mod clock;
mod engine;
mod figures;
mod guard;
mod log;
mod replay;

#[doc(no_inline)]
pub use atomic_breaker::{Config, Ratio, State, Transition};
#[doc(no_inline)]
pub use atomic_breaker_registry::RegistryError;
pub use call::{Call, Ending, Met};
pub use figures::Figures;
pub use guard::{Change, Keys};
pub use log::Log;
pub use replay::{Replay, Replayed};

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
