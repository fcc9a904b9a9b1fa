//! One [`atomic-breaker`](atomic_breaker) circuit breaker with what servers want to know about it: [`Resource`].
//!
//! It includes everything in [`atomic_breaker_std`].
//!
//! | module | contents |
//! |---|---|
//! | `words` | the words of a failure, without secrets |
//! | `last_failure` | the failure that opened a breaker |
//! | `loss` | failures that several calls share |
//! | `enforcement` | shadow mode: everything happens as usual, but calls pass |
//! | `admitted` (`tokio`) | waiting, retries and time limits, for anything that admits |
//! | `one` | all of that around one breaker, and its permit |
//! | `in_flight` | a limit on calls in flight, which trips the breaker |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

#[cfg(feature = "tokio")]
mod admitted;
mod enforcement;
mod in_flight;
mod last_failure;
mod loss;
mod one;
pub mod words;

#[doc(no_inline)]
pub use atomic_breaker_std::*;
pub use enforcement::{Enforcement, PercentError};
pub use in_flight::{Counted, CountsCalls, InFlightLimit, InFlightPermit};
pub use last_failure::LastFailureCell;
pub use one::{AnyResource, Resource, ResourcePermit};

/// For packages that bring permits of their own, and need what this one does around a call.
pub mod parts {
    #[cfg(feature = "tokio")]
    pub use crate::admitted::{Entrance, acquire_when_ready, retry, run_within};
    pub use crate::loss::{Begun, SharedFailure};
    pub use atomic_breaker_std::parts::*;
}

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
