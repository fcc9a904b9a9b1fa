// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tokio's timer adds.

mod clock;
mod state_watch;

pub use clock::{TokioClock, TokioTimer};
pub use state_watch::StateWatch;
