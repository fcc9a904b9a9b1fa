// SPDX-License-Identifier: MIT OR Apache-2.0
//! A circuit breaker whose whole state is **one atomic word**: lock-free, `no_std`, no allocation.
//!
//! ```
//! use atomic_breaker::{Breaker, Config, Fallback, ManualClock};
//! use core::time::Duration;
//!
//! // On a server: `StdClock` of atomic-breaker-std. On a microcontroller: `EmbassyClock` of
//! // atomic-breaker-embassy, or your millisecond counter.
//! static CLOCK: ManualClock = ManualClock::new();
//! static SENSOR: Breaker<&ManualClock> = Breaker::new(
//!     Config::new().consecutive_failures(3).open_for(Duration::from_secs(2)),
//!     &CLOCK,
//! );
//!
//! # fn read_sensor() -> Result<u16, ()> { Ok(7) }
//! let value = SENSOR.call(read_sensor).or_if_rejected(|_| Ok(0));
//! # assert_eq!(value, Ok(7));
//! ```
//!
//! It stops a program from hammering something that is failing: after enough failures it rejects calls at
//! once (open), later lets a few probes through (half-open), and closes when they succeed. A call that passes
//! a closed breaker and succeeds costs two loads of the word and no write while no failure is counted, so any
//! number of threads, cores and interrupt handlers share one breaker without contention.
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | guard a closure | [`Breaker::call`] |
//! | guard a future | [`Breaker::call_async`]; a timeout [belongs inside](Breaker::call_async) |
//! | guard a device: a sensor, a modem, through its driver | [`Device`] |
//! | say which errors count | [`Breaker::call_with`] and a [classifier](Classify) |
//! | repair what failed before it is tried again | [`Device::before_probe`], [`Permit::trips`]; [`wait::Repairing`] |
//! | return early with `?` | [`Permit::failing_when_dropped`] |
//! | report later, or from elsewhere | [`Breaker::acquire`] and its [`Permit`]; [`Token`] |
//! | set it up | [`Config`]; with memory or an observer, [`Builder`] |
//! | trip on a share of the last calls | [`Config::failure_ratio`] and [`LastCalls`] |
//! | log or count what happens | [`Observer`], or a closure: [`Builder::on_transition`] |
//! | inspect and control it | [`Breaker::snapshot`], [`Control`] |
//! | wait, retry, ping | [`wait`] |
//! | accept any breaker in your own function | [`AnyBreaker`] |
//! | test code that uses it | [`ManualClock`] |
//! | share rules, or replace them while running | [`Rules`], [`Builder::build_adjustable`] |
//! | make one breaker as small as it gets, in firmware | [`static_breaker!`] |
//! | put the word into RAM that survives a reset | [`word::Retained`], [`Breaker::restore`], [`Breaker::restore_after`] |
//! | share it between programs | [`Breaker::shared`] |
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
//!
//! # Where to read on
//!
//! The life cycle is drawn in [`state`]. The [guide](pages::guide) explains how to choose settings, where timeouts belong,
//! retries, tests and all adapters; [performance](pages::performance) shows what a call costs. The page on [breakers in a
//! library] is for authors of libraries.
//!
#![doc = include_str!("../limits.md")]
#![doc = ""]
#![doc = concat!("[breakers in a library]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/libraries.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

#[cfg(feature = "alloc")]
extern crate alloc;

/// Implements a trait for the pointers to what implements it: `$forward` does it for one pointer to `T`.
macro_rules! for_pointers {
    ($forward:ident) => {
        $forward!(&T);
        #[cfg(feature = "alloc")]
        $forward!(alloc::boxed::Box<T>);
        #[cfg(feature = "alloc")]
        $forward!(alloc::rc::Rc<T>);
        #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
        $forward!(alloc::sync::Arc<T>);
    };
}

// First, as the reference of `Breaker` lists its methods in this order.
mod breaker;
mod call;

mod acquire;
mod applied;
mod apply;
mod circuit;
pub mod clock;
pub mod config;
mod control;
pub mod device;
mod error;
#[cfg(feature = "heapless")]
mod event_log;
mod figures;
mod machine;
mod number;
pub mod observer;
pub mod outcome;
#[cfg(all(doc, not(doctest)))]
pub mod pages;
mod permit;
mod present;
mod report;
mod restore;
mod short_way;
mod slow;
mod snapshot;
pub mod state;
pub mod tally;
mod time;
mod token;
mod transition;
mod unguarded;
pub mod wait;
pub mod word;

pub use breaker::{
    Adjustable, AnyBreaker, BitsOf, Breaker, Builder, Known, LaterRules, StaticBreaker,
};
pub use call::Fallback;
pub use clock::{Clock, ManualClock, SharedClock};
#[cfg(feature = "serde")]
pub use config::ConfigOver;
pub use config::{AsRules, Config, ConfigError, Memory, Ratio, Rules, TripRule};
pub use control::{Adjust, Control};
pub use device::Device;
pub use error::{CallError, CorruptWord, Rejected, Wait};
#[cfg(feature = "heapless")]
pub use event_log::EventLog;
pub use observer::{Cause, FailedCall, Observer, OnTransition, Transition};
pub use outcome::{AnyError, Classify, Failure, Outcome};
pub use permit::{Attempt, Permit};
pub use present::Present;
pub use snapshot::Snapshot;
pub use state::State;
pub use tally::{ConstTally, LastCalls, Tally, Verdict};
pub use token::Token;
pub use unguarded::Unguarded;
