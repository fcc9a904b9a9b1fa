//! Features that use tokio's timer, and the code shared by waiting for a resource and for a key.

#[cfg(feature = "resource")]
mod admitted;
mod clock;
mod ext;
mod state_watch;

#[cfg(feature = "resource")]
pub(crate) use admitted::{Entrance, acquire_when_ready, call_timeout, retry};
pub use clock::{TokioClock, TokioTimer};
pub use ext::BreakerExt;
pub use state_watch::StateWatch;
