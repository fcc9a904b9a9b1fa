//! Features that use tokio's timer, and the code shared by waiting for a resource and for a key.

mod clock;
mod ext;
mod state_watch;

pub use clock::{TokioClock, TokioTimer};
pub use ext::BreakerExt;
pub use state_watch::StateWatch;
