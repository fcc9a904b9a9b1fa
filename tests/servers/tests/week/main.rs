// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that users write first, over a week of virtual time: a host that is down for an hour each day.
//!
//! Each program is what a user would write after reading only the example. Its breaker must open soon
//! after the host goes down, waste few calls while it is down, and let requests through again soon after it is
//! back. Programs that log and count are in `observe`.
//!
//! | file | what |
//! |---|---|
//! | `layers` | layers, registries, a guarded client |
//! | `guards` | guarded clients that wait for the end of the body; rules of one host; waiting for a breaker |
//! | `handles` | guards in an `Arc` |
//! | `stacks` | guards and breakers around each other, with layers of tower, with observers that panic |
//! | `middleware` | reqwest-middleware |
//! | `sliding` | a share of failures within a sliding time, calls in flight |
//! | `mapped` | breakers that processes share |
//! | `fleets` | processes that have joined a fleet |
//! | `operators` | an operator who commands a key while it is called |
//! | `leaving` | guarded clients whose callers leave, bring deadlines and read streams |
//! | `crowd` | more keys than slots, of which a few die |
//! | `long` | calls that are longer than the lease of a probe |
//! | `pings` | a breaker that is pinged, and a host that says when to come back |
//! | `calls` | calls that are kept if they do not succeed |
//! | `requests` | HTTP requests that are kept |
//! | `responses` | steps that ask what an HTTP response says |
//! | `troubled` | jobs that are held up, unknown or unreadable; a slow store |
//! | `shop`, `steps` | jobs of several steps, and the resource that they need |
#![cfg(target_has_atomic = "64")]

mod calls;
mod crowd;
mod fleets;
mod guards;
mod handles;
mod layers;
mod leaving;
mod long;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod mapped;
mod middleware;
mod operators;
mod pings;
mod requests;
mod responses;
mod shop;
mod sliding;
mod stacks;
mod steps;
mod troubled;

use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
