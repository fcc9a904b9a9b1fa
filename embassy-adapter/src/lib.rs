//! The [`atomic-breaker`](atomic_breaker) circuit breaker with the time of
//! [`embassy-time`](embassy_time).
//!
//! ```
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock};
//! use core::time::Duration;
//!
//! static RADIO: Breaker = Breaker::new(
//!     Config::new().consecutive_failures(3).open_for(Duration::from_secs(2)),
//!     EmbassyClock,
//! );
//!
//! # async fn send() -> Result<(), ()> { Ok(()) }
//! async fn task() {
//!     if let Err(error) = RADIO.call_async(send).await {
//!         // refused, or failed
//!         # let _ = error;
//!     }
//! }
//! # let _ = task();
//! ```
//!
//! | module | what |
//! |---|---|
//! | `clock` | [`EmbassyClock`] |
//! | `ext` | [`BreakerExt`]: what embassy's timers add to every breaker |
//! | `timeout` | [`TimeLimit`]: calls that may not take for ever |
//! | `ready` | sleeping until the breaker can admit a call |
//! | `retry` | [`Retry`]: trying again, never too early |
//! | `prober` | [`Prober`]: finding out by pings before a real call is risked |
//! | `changes`, `log` | observers: [`StateWatch`] wakes tasks, `DefmtLog` writes lines; `EventLog` is core's |
//! | `guarded` | `GuardedI2c`, `GuardedSpi`, `GuardedIo`: unmodified drivers behind a breaker |
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
#![no_std]
#![forbid(unsafe_code)]

mod changes;
mod clock;
mod ext;
#[cfg(any(feature = "embedded-hal", feature = "embedded-io"))]
mod guarded;
#[cfg(feature = "defmt")]
mod log;
mod prober;
mod ready;
mod retry;
mod share;
mod timeout;

#[doc(no_inline)]
pub use atomic_breaker::{
    AnyError, CallError, Cause, Classify, Clock, Config, ConfigError, EventLog, Failure, Fallback,
    LastCalls, Observer, Outcome, Permit, Rejected, Snapshot, State, Tally, Token, Transition,
    word,
};
pub use changes::{Changes, Deaf, Listener, StateWatch, Watching};
pub use clock::EmbassyClock;
pub use ext::BreakerExt;
#[cfg(any(feature = "embedded-hal", feature = "embedded-io"))]
pub use guarded::*;
#[cfg(feature = "defmt")]
pub use log::DefmtLog;
pub use prober::Prober;
pub use retry::Retry;
pub use timeout::{TimeLimit, Timed};

/// A breaker with the time of embassy. `Breaker::new(config, EmbassyClock)` is `const`.
///
/// The word is the one that the chip handles natively: 32 bits on Cortex-M and `riscv32`.
pub type Breaker<W = word::NativeWord, T = (), O = ()> =
    atomic_breaker::Breaker<EmbassyClock, W, T, O>;

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use embassy_time::{Duration as Ticks, MockDriver};

    #[test]
    fn the_breaker_opens_and_recovers_by_embassy_time() {
        let time = MockDriver::get();
        let breaker: Breaker = Breaker::new(
            Config::new()
                .consecutive_failures(1)
                .open_for(Duration::from_secs(2)),
            EmbassyClock,
        );
        breaker.acquire().unwrap().failure();
        time.advance(Ticks::from_millis(1_999));
        let refused = breaker.acquire().unwrap_err();
        assert_eq!(refused.retry_in(), Some(Duration::from_millis(1)));
        time.advance(Ticks::from_millis(1));
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed);
    }

    #[test]
    fn the_clock_costs_no_memory() {
        assert_eq!(size_of::<EmbassyClock>(), 0);
    }
}
