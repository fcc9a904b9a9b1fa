//! A breaker as servers use it: one, or one of many, with what they want to know beside its state.
//!
//! | file | what |
//! |---|---|
//! | `permit` | permits of whatever breaker |
//! | `call` | a call whose permit may outlive it |
//! | `admit`, `report` | where the permit of a request comes from, and who ends it by the response |
//! | `rejection`, `last_failure` | what a caller learns who is rejected |
//! | `enforcement` | shadow mode: all of it happens, yet calls pass |
//! | `in_flight` | a limit of calls in flight that trips |
//! | `one` | all of that around one breaker: [`Resource`] |

mod admit;
mod call;
mod enforcement;
mod in_flight;
mod last_failure;
mod one;
mod permit;
mod rejection;
mod report;

pub use admit::Admit;
pub use call::call_reported;
pub(crate) use call::count_panic;
pub use enforcement::{Enforcement, PercentError};
pub use in_flight::{InFlightLimit, InFlightPermit};
pub use last_failure::{LastFailure, LastFailureCell};
pub use one::{AnyResource, Resource, ResourcePermit};
pub use permit::AnyPermit;
pub use rejection::{Rejection, ServiceError};
pub use report::{AtOnce, Report};
