// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`atomic-breaker`](atomic_breaker) circuit breakers on servers: [one](Resource) with the failure that opened it and
//! shadow mode, or [one per key](Registry), such as a host, a shard or a tenant; limits on calls in flight; the [share of
//! failures](SlidingRatio) within a sliding time window.
//!
//! The names that go with these are included; everything else is in [`atomic_breaker_std`].
//!
//! | module | contents |
//! |---|---|
//! | `failed` | what an observer may ask about a call that failed |
//! | `retry_counts`, `retry_observer` | what became of the tries that failed; who is notified of it |
//! | `on_drop` | a guard for code that may panic |
//! | `printable` | text from outside, in a form that is safe to show |
//! | `permit` | permits of any breaker |
//! | `redact` | texts of failures, without secrets |
//! | `last_failure` | the failure that opened a breaker |
//! | `loss` | failures that several calls share |
//! | `enforcement` | shadow mode: everything happens as usual, but calls pass |
//! | `guard` | the calls of a resource or a key, and their permit |
//! | `resource` | one breaker, with its last failure and shadow mode |
//! | `sliding` | the share of failures within a sliding time window |
//! | `registry` | one breaker per key |
//! | `in_flight` | a limit on calls in flight |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "atomic-breaker-server needs 64-bit atomics, which this target does not have: use atomic-breaker-std"
);

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
    Admit, AnyPermit, AtOnce, Gated, LastFailure, Lot, Rejection, Report, Scope, ServiceError,
};
pub use registry::{
    AnyRegistry, ByKey, Entry, FirstOf, Key, KeyBreaker, KeyName, Keyed, KeyedObserver,
    NoneAdmitted, ObservedRegistry, OnKeyTransition, Registry, RegistryBuilder, RegistryError,
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
