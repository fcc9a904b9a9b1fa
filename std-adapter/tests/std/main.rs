// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers on `std`: clocks, tokio, real connections, and programs as users write them first.

mod blocking;
#[cfg(feature = "tokio")]
mod busy;
mod clocks;
#[cfg(feature = "tokio")]
mod first_try;
mod guarded;
mod renew;
#[cfg(feature = "tokio")]
mod runtime;
mod traps;
#[cfg(feature = "tokio")]
mod within;
