// SPDX-License-Identifier: MIT OR Apache-2.0
//! The surface of calls, for a resource and for a key of a registry.

mod calls;
mod grants;
mod held;
#[cfg(feature = "tokio")]
mod waiting;

pub use calls::Guard;
pub(crate) use grants::{Granted, Grants, Kind};
pub use held::GuardPermit;
#[cfg(feature = "tokio")]
pub use waiting::Repeat;
#[cfg(feature = "tokio")]
pub(crate) use waiting::{InTime, limited};
