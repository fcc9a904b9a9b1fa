// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits of any breaker: one that stands alone, one with more around it, or one of many.

mod admit;
mod any;
mod gated;
mod lot;
mod rejection;
mod scope;

pub use admit::Admit;
pub(crate) use any::run_admitted;
pub use any::{AnyPermit, AtOnce, Report};
pub use gated::Gated;
pub(crate) use gated::lease_of;
pub use lot::Lot;
pub(crate) use lot::lot;
pub use rejection::{LastFailure, Rejection, ServiceError};
pub use scope::Scope;
