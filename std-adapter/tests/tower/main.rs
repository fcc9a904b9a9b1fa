//! Breakers as layers of tower, through the public door and in paused time: nothing here sleeps.
#![cfg(all(feature = "tower", feature = "tokio"))]

mod breaker;
mod fake;
mod resource;
mod stacks;
mod time_limit;
