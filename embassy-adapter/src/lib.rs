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
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | guard a driver, with a time limit and a repair before a probe | [`Device`] |
//! | guard a closure or a future | [`call`](atomic_breaker::Breaker::call), [`call_async`](atomic_breaker::Breaker::call_async) |
//! | limit how long a call may take | [`call_timeout`](atomic_breaker::Breaker::call_timeout), [`TimeLimit`] |
//! | sleep until the breaker admits a call | [`ready`](atomic_breaker::Breaker::ready), [`acquire_when_ready`](atomic_breaker::Breaker::acquire_when_ready) |
//! | retry, or ping before a real call is risked | [`Retry`], [`Prober`] |
//! | guard the bus of a stack that owns it | `GuardedI2c`, `GuardedSpi`, `GuardedIo`, `GuardedCan`, `GuardedTcp`, `GuardedFlash` |
//! | wake a task, or write a line, when it opens | [`StateWatch`]; `DefmtLog`, `FacadeLog` |
//! | make one breaker as small as it gets | [`static_breaker!`] |
//!
//! The time is [`EmbassyClock`]'s; breakers sleep by [`EmbassyTimer`], as [`wait`] describes. Everything you need from
//! [`atomic_breaker`] is re-exported, so this crate is the only one to depend on.
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
//!
//! # Where to read on
//!
//! The page on [microcontrollers] says which word and which feature a chip needs, and shows repairs and RAM that survives a
//! reset; the [guide] how to choose settings.
#![doc = ""]
#![doc = concat!("[microcontrollers]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/microcontrollers.md")]
#![doc = concat!("[guide]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guide.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `clock`: `EmbassyClock`; `EmbassyTimer`, by which breakers sleep
// - `state_watch`, `log`: observers that wake tasks, and that write lines
// - `guarded`: buses, streams and chips behind a breaker, for stacks that own them

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
