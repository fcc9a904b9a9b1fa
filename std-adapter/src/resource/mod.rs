//! One breaker with what servers need beyond its state.
//!
//! | file | contents |
//! |---|---|
//! | `one`, `held` | all of that around one breaker: [`Resource`], and its [`ResourcePermit`] |
//! | `last_failure`, `words` | the failure that opened it; the words of a failure, without secrets |
//! | `loss` | failures that several calls share |
//! | `enforcement` | shadow mode: everything happens as usual, but calls pass |
//! | `in_flight` | a limit on calls in flight, which trips the breaker |
//! | `wait`, `admitted` (`tokio`) | waiting for a resource and retrying; the same for whatever admits |

#[cfg(feature = "tokio")]
mod admitted;
mod enforcement;
mod held;
mod in_flight;
mod last_failure;
mod loss;
mod one;
#[cfg(feature = "tokio")]
mod wait;
pub mod words;

#[cfg(feature = "tokio")]
pub use admitted::{Entrance, acquire_when_ready, call_timeout, retry};
pub use enforcement::{Enforcement, PercentError};
pub use held::ResourcePermit;
pub use in_flight::{Counted, CountsCalls, InFlightLimit, InFlightPermit};
pub use last_failure::LastFailureCell;
pub use loss::{Begun, SharedFailure};
pub use one::{AnyResource, Resource};
