//! Permits of any breaker: one that stands alone, one with more around it, or one of many.

mod admit;
mod any;
mod call;
mod gated;
mod lot;
mod rejection;

pub use admit::{Admit, AdmitShared, OneBreaker};
pub use any::{AnyPermit, AtOnce, Report};
pub use call::{call_reported, count_panic, judged, run, run_async};
pub use gated::Gated;
pub use lot::{Lot, lot};
pub use rejection::{LastFailure, Rejection, ServiceError};
