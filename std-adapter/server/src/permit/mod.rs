// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits of any breaker: one that stands alone, one with more around it, or one of many.

mod admit;
mod any;
mod draw;
mod one_breaker;
mod rejection;
mod scope;

pub use admit::Admit;
pub(crate) use any::run_admitted;
pub use any::{AnyPermit, AtOnce, Report};
pub use draw::EnforcementDraw;
pub(crate) use draw::drawn;
pub use one_breaker::OneBreaker;
pub(crate) use one_breaker::lease_of;
pub use rejection::{LastFailure, Rejection, ServiceError};
pub use scope::Scope;
