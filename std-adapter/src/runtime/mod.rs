// SPDX-License-Identifier: MIT OR Apache-2.0
//! The additions for tokio's timer.

mod clock;
mod state_watch;

pub use clock::{TokioClock, TokioTimer};
pub use state_watch::StateWatch;
