//! What tokio's timer adds.

mod clock;
mod state_watch;

pub use clock::{TokioClock, TokioTimer};
pub use state_watch::StateWatch;
