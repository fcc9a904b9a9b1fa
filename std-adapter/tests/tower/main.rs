//! Breakers as layers of tower, through the public API and in paused time: nothing here sleeps.
#![cfg(all(feature = "tower", feature = "tokio"))]

mod balance;
mod breaker;
mod fake;
mod gate;
mod held;
#[cfg(feature = "registry")]
mod in_flight;
#[cfg(feature = "retry")]
mod liveness;
mod promises;
mod resource;
mod stacks;
mod time_limit;
