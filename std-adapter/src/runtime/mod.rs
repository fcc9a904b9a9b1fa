//! What tokio's timer adds.

mod clock;
mod ext;
mod state_watch;

pub use clock::{TokioClock, TokioTimer};
pub use ext::BreakerExt;
pub use state_watch::StateWatch;
