// SPDX-License-Identifier: MIT OR Apache-2.0
//! The [`atomic-breaker`](atomic_breaker) circuit breaker with the time of
//! [`embassy-time`](embassy_time).
//!
//! ```
//! use atomic_breaker_embassy::{Breaker, Config, Device, EmbassyClock};
//! use embassy_time::Duration;
//! # struct Sht4x;
//! # struct Error;
//! # impl Sht4x { async fn measure(&mut self) -> Result<i32, Error> { Ok(21_000) } }
//!
//! static SENSOR: Breaker = Breaker::new(Config::new().consecutive_failures(3), EmbassyClock);
//!
//! async fn watch(sensor: Sht4x) {
//!     // One call is one measurement.
//!     let mut sensor = Device::new(sensor, &SENSOR).time_limit(Duration::from_millis(50));
//!     if let Err(error) = sensor.call_async(async |sensor| sensor.measure().await).await {
//!         // rejected, failed, or no answer in time
//!         # let _ = error;
//!     }
//! }
//! # let _ = watch(Sht4x);
//! ```
//!
//! | module | what |
//! |---|---|
//! | `clock` | [`EmbassyClock`]; [`EmbassyTimer`], by which breakers sleep: [time limits](TimeLimit), waiting, [`Retry`], [`Prober`] are methods of the breaker, and [`wait`] describes how they wait |
//! | `state_watch`, `log` | observers: [`StateWatch`] wakes tasks, `DefmtLog` and `FacadeLog` write lines; `EventLog` comes from the core crate |
//! | `guarded` | `GuardedI2c`, `GuardedSpi`, `GuardedIo`, `GuardedCan`, `GuardedTcp`, `GuardedFlash`: for stacks that own their bus; [`Device`], of the core, guards a driver |
//!
//! Everything you need from [`atomic_breaker`] is re-exported, so this crate is the only one to depend
//! on.
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

mod clock;
#[cfg(any(
    feature = "embedded-can",
    feature = "embedded-hal",
    feature = "embedded-io",
    feature = "embedded-storage"
))]
mod guarded;
#[cfg(any(feature = "defmt", feature = "log"))]
mod log;
mod state_watch;

#[doc(no_inline)]
pub use atomic_breaker::wait::{
    Mutating, Prober, Repairing, Retry, RetryEvent, TimeLimit, Timed, TryEvent,
};
#[doc(no_inline)]
pub use atomic_breaker::{
    AnyBreaker, AnyError, AsRules, Attempt, BitsOf, Builder, CallError, Cause, Classify, Clock,
    Config, ConfigError, Control, CorruptWord, Device, EventLog, Failure, Fallback, LastCalls,
    ManualClock, Observer, OnTransition, Outcome, Permit, Present, Ratio, Rejected, Rules,
    SharedClock, Snapshot, State, StaticBreaker, Tally, Token, Transition, Unguarded, Verdict,
    Wait, device, static_breaker, tally, wait, word,
};
pub use clock::{EmbassyClock, EmbassyTimer};
#[cfg(any(
    feature = "embedded-can",
    feature = "embedded-hal",
    feature = "embedded-io",
    feature = "embedded-storage"
))]
pub use guarded::*;
#[cfg(feature = "defmt")]
pub use log::DefmtLog;
#[cfg(feature = "log")]
pub use log::FacadeLog;
pub use state_watch::StateWatch;

/// A breaker that uses embassy's time. `Breaker::new(config, EmbassyClock)` is `const`, and so is the
/// [`builder`](atomic_breaker::Breaker::builder) for one with an observer, a tally or an external word.
///
/// The parameters are those of [`atomic_breaker::Breaker`]. The word is the one that the chip handles
/// natively: 32 bits on Cortex-M and `riscv32`.
pub type Breaker<
    C = EmbassyClock,
    W = word::NativeWord,
    T = (),
    O = (),
    R = Rules<<W as word::Word>::Bits>,
> = atomic_breaker::Breaker<C, W, T, O, R>;
