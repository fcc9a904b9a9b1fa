//! Breakers as layers of [tower](https://docs.rs/tower): around every client and server that is a
//! `Service`, such as reqwest, hyper, axum and tonic.
//!
//! | type | for |
//! |---|---|
//! | [`BreakerLayer`] | a service that is cloned per request, as clients are: rejects at once |
//! | [`GateLayer`] | an endpoint below a balancer or a buffer: not ready while it would reject |
//!
//! The layer holds a handle of the breaker and never makes one, so however often it is applied (axum applies
//! it per route), all services share the same breaker.

mod future;
mod service;

pub use future::ResponseFuture;
pub use service::{BreakerLayer, BreakerService};
