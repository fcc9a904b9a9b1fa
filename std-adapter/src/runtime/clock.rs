// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker's time, from tokio.

use std::sync::LazyLock;
use std::time::Duration;

use atomic_breaker::{
    Clock,
    wait::{self, HasTimer},
};
use tokio::task::{Unconstrained, unconstrained};
use tokio::time::{Instant, Sleep, sleep};

use crate::std_clock::StdClock;

/// tokio's time: the same as [`StdClock`], except in tests that [pause] or [advance] it, which breakers then
/// follow. Zero-sized. Needs no runtime.
///
/// ```
/// use atomic_breaker_std::{Breaker, Config, TokioClock};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// // In a `#[tokio::test(start_paused = true)]`:
/// let breaker = Breaker::new(Config::new().open_for(Duration::from_secs(60)), TokioClock);
/// breaker.trip();
/// tokio::time::sleep(Duration::from_secs(60)).await; // takes no time
/// assert!(breaker.acquire().unwrap().is_probe());
/// # }
/// ```
///
/// [pause]: https://docs.rs/tokio/1/tokio/time/fn.pause.html
/// [advance]: https://docs.rs/tokio/1/tokio/time/fn.advance.html
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for TokioClock {
    fn now_ms(&self) -> u32 {
        // The low half of a count that never ends: modulo 2³², as the breaker requires.
        now_ms() as u32
    }

    fn entropy(&self) -> u32 {
        StdClock.entropy()
    }
}

/// tokio's timer, by which all clocks of this crate sleep. Zero-sized. Sleeping needs a runtime with its time enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

/// The reading at the origin, 35 years: each test runtime pauses a time of its own, which may be before the
/// origin.
const AT_ORIGIN_MS: u64 = 1 << 40;

fn now_ms() -> u64 {
    let now = Instant::now();
    // Rounded down on both sides of the origin.
    if now >= *ORIGIN {
        AT_ORIGIN_MS + (now - *ORIGIN).as_millis() as u64
    } else {
        AT_ORIGIN_MS - (*ORIGIN - now).as_nanos().div_ceil(1_000_000) as u64
    }
}

impl wait::Timer for TokioTimer {
    /// Ends although the task has used up its turn: an operation that always has more to do, such as the reader of an
    /// endless stream, uses it up each time, and its time limit would never pass.
    type Sleep = Unconstrained<Sleep>;

    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn sleep(&self, ms: u64) -> Self::Sleep {
        unconstrained(sleep(Duration::from_millis(ms)))
    }
}

/// The clocks of this crate sleep by tokio's timer.
macro_rules! sleeps_by_tokio {
    ($($(#[$condition:meta])* $clock:ty)+) => {$(
        $(#[$condition])*
        impl HasTimer for $clock {
            type Timer = TokioTimer;

            fn timer(&self) -> TokioTimer {
                TokioTimer
            }
        }
    )+};
}

sleeps_by_tokio! {
    StdClock
    TokioClock
    #[cfg(feature = "coarse")]
    crate::CoarseClock
    #[cfg(all(feature = "shared", unix))]
    crate::BootClock
}
