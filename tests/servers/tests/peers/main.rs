// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks of other circuit breakers' test suites, checked here, through the public API and in paused time. Where
//! this crate differs on purpose, the test pins its behaviour and says why: see `docs/peers.md`.
//!
//! | file | system |
//! |---|---|
//! | `tower_resilience`, `tower_resilience_rules` | tower-resilience-circuitbreaker 0.14, for Rust |
//! | `polly`, `polly_retry` | Polly v8, for .NET: circuit breaker, retry, timeout |
//! | `dotnet_http` | Microsoft.Extensions.Http.Resilience, for .NET: the standard pipeline around a client |
//! | `resilience4j`, `resilience4j_calls`, `resilience4j_retry` | resilience4j: circuit breaker, retry, time limiter, for Java |
//! | `support` | a scripted server, and an observer that records events |
#![cfg(target_has_atomic = "64")]

mod dotnet_http;
mod polly;
mod polly_retry;
mod resilience4j;
mod resilience4j_calls;
mod resilience4j_retry;
mod support;
mod tower_resilience;
mod tower_resilience_rules;
