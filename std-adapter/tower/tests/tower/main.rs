// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers as layers of tower, through the public API and in paused time: nothing here sleeps.

mod balance;
mod breaker;
mod fake;
mod gate;
mod hedging;
mod held;
mod in_flight;
mod liveness;
mod promises;
mod resource;
mod stacks;
mod time_limit;
mod tries;
