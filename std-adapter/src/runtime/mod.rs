//! What tokio's timer adds to a breaker.

mod clock;
mod ext;
mod state_watch;

pub use clock::{TokioClock, TokioTimer};
pub use ext::BreakerExt;
pub use state_watch::StateWatch;
