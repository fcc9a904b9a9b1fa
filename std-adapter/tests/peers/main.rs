//! What the test suites of other circuit breakers check, checked here, through the public door and in paused time.
//! Where this one differs on purpose, the test pins what it does and says why: see `docs/peers.md`.
//!
//! | file | system |
//! |---|---|
//! | `tower_resilience` | tower-resilience-circuitbreaker 0.14, for Rust |
//! | `polly` | Polly v8, for .NET: circuit breaker, retry, timeout |
//! | `dotnet_http` | Microsoft.Extensions.Http.Resilience, for .NET: the standard pipeline around a client |
//! | `resilience4j` | resilience4j: circuit breaker, retry, time limiter, for Java |
//! | `support` | a server that does as it is asked, and who writes down what happens |
#![cfg(all(feature = "client", target_has_atomic = "64"))]

mod dotnet_http;
mod polly;
mod resilience4j;
mod support;
mod tower_resilience;
