// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources, a breaker per key, calls in flight, shares of failures, and waiting.

#[cfg(feature = "tokio")]
mod guard;
mod in_flight;
mod permits;
mod redact;
mod registry;
mod resource;
mod retry_events;
mod sliding;
#[cfg(feature = "tokio")]
mod waiting;
