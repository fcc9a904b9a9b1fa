// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`atomic-breaker`](atomic_breaker) circuit breakers on servers: one with the failure that opened it and
//! shadow mode, or one per key, such as a host, a shard or a tenant.
//!
//! ```
//! use atomic_breaker_server::{Config, Guard, Registry, State};
//! use std::sync::LazyLock;
//!
//! static SHARDS: LazyLock<Registry<u32>> = LazyLock::new(|| {
//!     Registry::new(Config::new().consecutive_failures(1)).expect("constant rules")
//! });
//!
//! let _ = SHARDS.of(7).call(|| Err::<(), _>("connection refused"));
//! assert_eq!(SHARDS.state(&7), State::Open);
//! assert!(SHARDS.of(8).call(|| Ok::<_, &str>("found")).is_ok());
//!
//! // An error says why the breaker is open.
//! let error = SHARDS.of(7).call(|| Ok::<_, &str>("found")).unwrap_err();
//! assert!(error.to_string().ends_with("(last failure: connection refused)"));
//! ```
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | guard one resource, and know which failure opened it | [`Resource`] and its [`call`](Guard::call), [`call_async`](Guard::call_async) |
//! | have a breaker per key, bounded in number | [`Registry`], and [`Registry::of`] for a call |
//! | take the first of several replicas that admits a call | [`Registry::first_of`] |
//! | see what a breaker would do before it rejects anything | [`Enforcement`] |
//! | limit the calls in flight | [`InFlightLimit`] |
//! | trip on a share of failures within a sliding time window | [`SlidingRatio`], [`SlidingBreaker`] |
//! | be notified of what happens to keys, and to retries | [`KeyedObserver`], [`OnKeyTransition`]; [`RetryObserver`], [`OnRetry`] |
//! | report later, or from elsewhere | [`Guard::acquire`] and its [`GuardPermit`]; [`AnyPermit`] for code that takes any |
//! | keep secrets out of the texts of errors | [`redact`] |
//! | write a client or a layer around any of these | [`Admit`], [`Report`] |
//!
//! The names that go with these are included; everything else is in [`atomic_breaker_std`].
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `tokio` | waiting, retries and time limits with tokio's timer |
//!
//! # Where to read on
//!
//! [The page on registries] says how many keys to allow, and what happens beyond; the [guide]
//! how to choose settings.
#![doc = ""]
#![doc = concat!("[The page on registries]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/registry.md")]
#![doc = concat!("[guide]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guide.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "atomic-breaker-server needs 64-bit atomics, which this target does not have: use atomic-breaker-std"
);

// The modules, in the order in which to read them:
// - `failed`: what an observer may ask about a call that failed
// - `retry_counts`, `retry_observer`: what became of the tries that failed; who is notified of it
// - `on_drop`: a guard for code that may panic
// - `printable`: text from outside, in a form that is safe to show
// - `permit`: permits of any breaker
// - `redact`: texts of failures, without secrets
// - `last_failure`: the failure that opened a breaker
// - `loss`: failures that several calls share
// - `enforcement`: shadow mode: everything happens as usual, but calls pass
// - `guard`: the calls of a resource or a key, and their permit
// - `resource`: one breaker, with its last failure and shadow mode
// - `sliding`: the share of failures within a sliding time window
// - `registry`: one breaker per key
// - `in_flight`: a limit on calls in flight

mod enforcement;
mod failed;
mod guard;
mod in_flight;
mod last_failure;
mod loss;
mod on_drop;
mod permit;
mod printable;
pub mod redact;
mod registry;
mod resource;
mod retry_counts;
mod retry_observer;
mod sliding;

#[doc(no_inline)]
pub use atomic_breaker_std::{
    Adjust, AdjustableBreaker, AnyBreaker, AnyError, AsRules, Breaker, CallError, Cause, Classify,
    Clock, Config, ConfigError, Control, FailedCall, Failure, Fallback, KeptRules, LastCalls,
    ManualClock, Memory, Observer, OnTransition, Outcome, Permit, Present, Prober, Ratio, Rejected,
    Repairing, Retry, RetryEvent, Rules, SharedClock, Snapshot, State, StdClock, Tally, TimeLimit,
    Timed, Token, Transition, TripRule, TryEvent, Unguarded, Verdict, Wait, adjustable_breaker,
    breaker, tally, wait, word,
};
#[cfg(feature = "tokio")]
#[doc(no_inline)]
pub use atomic_breaker_std::{StateWatch, TokioClock, TokioTimer};
pub use enforcement::{Enforcement, PercentError};
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub use guard::Repeat;
pub use guard::{Guard, GuardPermit};
pub use in_flight::{InFlightLimit, InFlightPermit};
pub use last_failure::LastFailureCell;
pub use loss::ConnectionId;
pub use permit::{
    Admit, AnyPermit, AtOnce, EnforcementDraw, LastFailure, OneBreaker, Rejection, Report, Scope,
    ServiceError,
};
pub use registry::{
    AnyRegistry, ByKey, Entry, FirstOf, KeyBreaker, KeyGuard, KeyName, KeyedObserver, NoneAdmitted,
    ObservedRegistry, ObserverOfKey, OnKeyTransition, Registry, RegistryBuilder, RegistryError,
    RegistryOf, RegistryStats, WhenFull, check_capacity,
};
pub use resource::Resource;
pub use retry_counts::RetryCounts;
pub use retry_observer::{OnRetry, RetryObserver};
pub use sliding::{SlidingBreaker, SlidingRatio};

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
