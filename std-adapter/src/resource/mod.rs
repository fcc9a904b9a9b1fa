//! Breakers for servers, alone or one of many, with the information that servers need beyond the
//! state.
//!
//! | file | what |
//! |---|---|
//! | `permit` | permits of any kind of breaker |
//! | `call` | a call whose permit may outlive it |
//! | `admit`, `report` | where the permit of a request comes from, and how the response ends it |
//! | `rejection`, `last_failure` | what a rejected caller learns |
//! | `loss` | failures that several calls share |
//! | `words` | the words of a failure, without secrets; text from outside, in a safe form |
//! | `enforcement` | shadow mode: everything happens as usual, but calls pass |
//! | `in_flight` | a limit on calls in flight, which trips the breaker |
//! | `one`, `held` | all of that around one breaker: [`Resource`], and its [`ResourcePermit`] |
//! | `wait` (`tokio`) | waiting for a resource, and retrying |

mod admit;
mod call;
mod enforcement;
mod held;
mod in_flight;
mod last_failure;
mod loss;
mod one;
mod permit;
mod rejection;
mod report;
#[cfg(feature = "tokio")]
mod wait;
mod words;

pub use admit::{Admit, OneBreaker};
pub use call::call_reported;
#[cfg(any(
    feature = "tower",
    all(feature = "reqwest-middleware", target_has_atomic = "64")
))]
pub(crate) use call::count_panic;
#[cfg(any(feature = "registry", feature = "tokio"))]
pub(crate) use call::run_async;
pub(crate) use call::{judged, run};
pub use enforcement::{Enforcement, PercentError};
pub use held::ResourcePermit;
pub use in_flight::{Counted, CountsCalls, InFlightLimit, InFlightPermit};
pub use last_failure::{LastFailure, LastFailureCell};
pub(crate) use loss::{Begun, SharedFailure};
pub use one::{AnyResource, Resource};
pub use permit::AnyPermit;
#[cfg(feature = "http")]
pub(crate) use rejection::NoKey;
pub use rejection::{Rejection, ServiceError};
pub use report::{AtOnce, Report};
pub use words::printable;
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
pub(crate) use words::too_slow;
#[cfg(any(feature = "http", feature = "registry", feature = "steps"))]
pub(crate) use words::without_secrets;
