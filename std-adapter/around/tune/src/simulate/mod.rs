// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plays outages of a kind before the real [`atomic-breaker`](atomic_breaker) on a virtual clock, for your own tests: do
//! the settings of a circuit breaker do what they should? A minute takes milliseconds.
//!
//! ```
//! use atomic_breaker_tune::{Config, Scenario, simulate};
//! use std::time::Duration;
//!
//! const PAYMENTS: Config = Config::new().consecutive_failures(5).open_for(Duration::from_secs(2));
//!
//! // Connections are refused: 100 calls a second.
//! let report = simulate(&PAYMENTS, Scenario::dead());
//! assert!(report.calls_before_open() <= 5, "{report}");
//! assert!(report.time_until_closed() <= Duration::from_millis(2_100), "{report}");
//!
//! // One error in fifty must not open it.
//! assert_eq!(simulate(&PAYMENTS, Scenario::errors(2)).trips(), 0);
//! ```
//!
//! ```text
//! Scenario ─► Callers ─► run ◄─► Breaker, on the clock of the run
//!                         │
//!                         └────► Figures, StateChange ─► SimulationReport
//! ```

// The modules, in the order in which to read them:
// - `call`: a call, and how it ends
// - `clock`: the clock of a run
// - `breakers`: the breakers of a run, and what they did
// - `source`: where the calls come from, such as callers that wait for their call before they make the next one
// - `figures`: what a run costs
// - `cold`: a resource that is back, and cannot bear the whole load yet
// - `engine`: a run: calls begin and end in the order of time. For packages that bring calls of their own
// - `scenario`: what happens to the resource, and who calls it
// - `report`: what became of a scenario
// - `simulation`: plays a scenario

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

pub use breakers::StateChange;
pub use cold::ColdServer;
pub use figures::Figures;
pub use report::SimulationReport;
pub use scenario::Scenario;
pub use simulation::simulate;
