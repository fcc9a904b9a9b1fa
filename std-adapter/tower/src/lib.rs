// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`atomic-breaker`](atomic_breaker) circuit breakers as layers of [tower](https://docs.rs/tower): around any client or
//! server that is a `Service`, such as reqwest, hyper, axum and tonic.
//!
//! ```
//! use atomic_breaker_tower::{Breaker, BreakerLayer, Config, TimeLimitLayer, breaker};
//! use std::{io, time::Duration};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! static SEARCH: Breaker = breaker(Config::new());
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let search = ServiceBuilder::new()
//!     .layer(BreakerLayer::new(&SEARCH))
//!     .layer(TimeLimitLayer::new(Duration::from_secs(1)))
//!     .service(service_fn(|words: &'static str| async move { Ok::<_, io::Error>(words.len()) }));
//! assert_eq!(search.oneshot("rust").await.unwrap(), 4);
//! # }
//! ```
//!
//! # What it has
//!
//! | layer | for |
//! |---|---|
//! | [`BreakerLayer`] | a service that is cloned per request, as clients are: rejects at once |
//! | [`TryLayer`] | the same with a time limit below it: a call goes on when its caller leaves, so the service is judged by what it does |
//! | [`GateLayer`] | an endpoint under a balancer or a buffer: not ready while it would reject |
//! | [`TimeLimitLayer`] | a time limit below a breaker, readiness included |
//! | [`RetryLayer`] | retries above a breaker, bounded in number, in time and by a budget: [`RetryPolicy`], [`RetryBudget`], [`RetryBudgets`] |
//!
//! A layer holds a handle to the breaker and never creates one, so however often it is applied (axum applies it per
//! route), all services share the same breaker.
//!
//! The root has what the signatures here name, and what every program with a breaker needs. The rest is in
//! [`atomic_breaker_server`]. There are no features.
//!
//! # Which retry to use when
//!
//! | | |
//! |---|---|
//! | a tower stack (reqwest, hyper, tonic, axum) | [`RetryLayer`] |
//! | an async function, without tower | [`Breaker::retry`](atomic_breaker::Breaker::retry) |
//!
//! The latter has no budget, so it suits few callers: start-up, background tasks. Do not nest retries, and do not
//! put one above a client that retries by itself: three tries of three tries are nine.
//!
//! # Where to read on
//!
//! [The page on layers] shows whole stacks, with fallbacks, bulkheads, rate limits and hedging.
#![doc = ""]
#![doc = concat!("[The page on layers]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/tower.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

/// Access to the inner service, in an `impl` of a service around another one.
macro_rules! inner_service {
    () => {
        /// The inner service.
        pub const fn get_ref(&self) -> &S {
            &self.inner
        }

        /// The inner service.
        pub const fn get_mut(&mut self) -> &mut S {
            &mut self.inner
        }

        /// The inner service.
        pub fn into_inner(self) -> S {
            self.inner
        }
    };
}

/// Defines how a layer is given the breaker to ask, and the classifier of results.
macro_rules! guard_layer {
    ($layer:ident) => {
        impl<A> $layer<A> {
            /// A layer that asks a breaker and treats every error as a failure. Under load from many threads use a `static`
            /// or leak it: cloning an `Arc` per request makes all of them write to the same memory.
            pub const fn new(admit: A) -> Self {
                let report = AnyError;
                Self { admit, report }
            }
        }

        impl<A, C> $layer<A, C> {
            /// Asks a [classifier](atomic_breaker_server::Classify), such as a closure, what a result means.
            pub fn classify<T, E, K>(self, classify: K) -> $layer<A, crate::AtOnce<K>>
            where
                K: atomic_breaker_server::Classify<T, E>,
            {
                self.report(crate::AtOnce(classify))
            }

            /// Leaves it to a [reporter](crate::Report), such as those of `atomic-breaker-http`, to report what a result
            /// means.
            pub fn report<K>(self, report: K) -> $layer<A, K> {
                let admit = self.admit;
                $layer { admit, report }
            }
        }
    };
}

/// Refuses to compile a call of a service that never fails, if all that counts as a failure is its error.
macro_rules! can_fail {
    ($service:ident, $report:ident) => {
        const {
            // Only an error that cannot happen leaves nothing to tell apart.
            let is_told = size_of::<Result<(), $service::Error>>() > 0;
            assert!(
                is_told || !$report::COUNTS_ERRORS_ALONE,
                "the breaker would never open: the error of this service cannot happen, and any response counts as a \
                 success, a 503 as well: say which are failures, by `.report(HttpClassifier::new())` or `.classify(..)`"
            );
        }
    };
}

// The modules, in the order in which to read them:
// - `service`: `BreakerLayer`
// - `asked`: whether the breaker has admitted a try, for the retry above it
// - `outliving`, `read_on`, `try_layer`: one try that may go on when its caller leaves; what becomes of its response;
//   `TryLayer`
// - `gate`: `GateLayer`
// - `time_limit`: the limit of a try and of a probe; `TimeLimitLayer`
// - `retry`: `RetryLayer`, its policy and its budgets

mod asked;
mod gate;
mod outliving;
mod read_on;
mod ready_call;
mod retry;
mod service;
mod time_limit;
mod try_layer;

#[doc(hidden)]
pub use asked::admitted;
#[doc(no_inline)]
pub use atomic_breaker_server::{
    Admit, AnyPermit, AtOnce, Breaker, Config, Failure, OnRetry, Outcome, Rejection, Report,
    RetryObserver, ServiceError, State, StdClock, Timed, TokioClock, TryEvent, breaker,
};
pub use gate::{GateLayer, GateService};
pub use outliving::Try;
#[doc(hidden)]
pub use outliving::{Leaving, has_left};
pub use read_on::ReadOn;
pub use ready_call::ReadyCall;
pub use retry::{
    Backoff, BudgetByKey, BudgetConfig, BudgetOf, ObserveRetries, ObservedBy, RetryBudget,
    RetryBudgets, RetryConfig, RetryConfigError, RetryFuture, RetryLayer, RetryPolicy,
    RetryService,
};
pub use service::{BreakerLayer, BreakerService, ResponseFuture};
#[doc(hidden)]
pub use time_limit::TryLimits;
pub use time_limit::{TimeLimitFuture, TimeLimitLayer, TimeLimitService};
pub use try_layer::{TryLayer, TryService};

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
