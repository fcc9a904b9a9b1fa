//! Breakers as layers of [tower](https://docs.rs/tower): around any client or server that is a `Service`, such as
//! reqwest, hyper, axum and tonic.
//!
//! | type | for |
//! |---|---|
//! | [`BreakerLayer`] | a service that is cloned per request, as clients are: rejects at once |
//! | [`GateLayer`], with the feature `tokio` | an endpoint under a balancer or a buffer: not ready while it would reject |
//! | [`TimeLimitLayer`], with the feature `tokio` | a time limit below a breaker, readiness included |
//!
//! The layer holds a handle to the breaker and never creates one, so however often it is applied (axum applies it per
//! route), all services share the same breaker.

mod future;
#[cfg(feature = "tokio")]
mod gate;
mod service;
#[cfg(feature = "tokio")]
mod time_limit;

pub use future::ResponseFuture;
#[cfg(feature = "tokio")]
pub use gate::{GateLayer, GateService};
pub use service::{BreakerLayer, BreakerService};
#[cfg(feature = "tokio")]
pub use time_limit::{TimeLimitFuture, TimeLimitLayer, TimeLimitService};
