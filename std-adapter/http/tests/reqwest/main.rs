// SPDX-License-Identifier: MIT OR Apache-2.0
//! reqwest's client over loopback.
//!
//! | file | what |
//! |---|---|
//! | `server` | a host that answers as the path says, and one that is down |
//! | `guarded` | through `ClientGuard`, and with a breaker straight onto the client |
//! | `errors` | which errors are the host's |
//! | `bodies` | truncated bodies |
//! | `impatient` | callers with a time limit of their own, slow readers |
//! | `going_on` | callers that leave a middleware |
//! | `outliving` | how many of them go on, and how far |
//! | `uploads`, `upload_times` | streamed bodies of requests; whose time it is, in virtual time |
//! | `middleware`, `probes`, `retries` | through reqwest-middleware; its probes; beneath reqwest-retry |
//! | `repairs` | repairs within its probes |
#![cfg(feature = "reqwest")]

mod bodies;
mod errors;
#[cfg(feature = "reqwest-middleware")]
mod going_on;
mod guarded;
#[cfg(feature = "reqwest-middleware")]
mod impatient;
#[cfg(feature = "reqwest-middleware")]
mod middleware;
#[cfg(feature = "reqwest-middleware")]
mod outliving;
#[cfg(feature = "reqwest-middleware")]
mod probes;
#[cfg(feature = "reqwest-middleware")]
mod repairs;
#[cfg(feature = "reqwest-middleware")]
mod retries;
mod server;
#[cfg(feature = "reqwest-middleware")]
mod upload_times;
#[cfg(feature = "reqwest-middleware")]
mod uploads;
