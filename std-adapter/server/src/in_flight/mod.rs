// SPDX-License-Identifier: MIT OR Apache-2.0
//! A limit on calls in flight: `limit` is what admits through it, `counts` the table behind it.

mod counts;
mod limit;

pub use limit::{InFlightLimit, InFlightPermit};
