// SPDX-License-Identifier: MIT OR Apache-2.0
//! Do the settings of a circuit breaker do what they should? Plays outages of a kind before the real
//! [`atomic-breaker`](atomic_breaker) on a virtual clock, for your own tests: a minute takes milliseconds.
//!
//! ```text
//! Scenario ─► Callers ─► run ◄─► Breaker, on the clock of the run
//!                         │
//!                         └────► Figures, StateChange ─► SimulationReport
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `call` | a call, and how it ends |
//! | `clock` | the clock of a run |
//! | `breakers` | the breakers of a run, and what they did |
//! | `source` | where the calls come from, such as callers that wait for their call before they make the next one |
//! | `figures` | what a run costs |
//! | `cold` | a resource that is back, and cannot bear the whole load yet |
//! | `engine` | a run: calls begin and end in the order of time. For packages that bring calls of their own |
//! | `scenario` | what happens to the resource, and who calls it |
//! | `report` | what became of a scenario |
//! | `simulation` | plays a scenario |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

mod breakers;
mod call;
mod clock;
mod cold;
pub mod engine;
mod figures;
mod report;
mod scenario;
mod simulation;
mod source;

#[doc(no_inline)]
pub use atomic_breaker::{Config, Ratio, State, Transition};
pub use breakers::StateChange;
pub use cold::ColdServer;
pub use figures::Figures;
pub use report::SimulationReport;
pub use scenario::Scenario;
pub use simulation::simulate;

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
