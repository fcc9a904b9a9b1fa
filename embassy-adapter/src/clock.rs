// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker's time, from embassy.

use atomic_breaker::Clock;
use atomic_breaker::wait::{self, HasTimer, Limit, OneFailure, TimeLimit};
use embassy_time::{Duration, Instant, Timer};

/// The time since boot, as [`embassy_time`] tells it. Zero-sized.
///
/// It starts over each time the chip starts, so it is not a [`SharedClock`](atomic_breaker::SharedClock): a
/// word that survives a reset has to be [restored](atomic_breaker::Breaker::restore).
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbassyClock;

impl Clock for EmbassyClock {
    fn now_ms(&self) -> u32 {
        // The low half of a count that never ends: modulo 2³², as the breaker requires.
        Instant::now().as_millis() as u32
    }

    /// The fine digits of the tick counter: devices that trip at different moments, if only by a few ticks,
    /// draw different jitter. Devices that trip in the same tick after the start draw the same: give each its
    /// own [`seed`](atomic_breaker::Config::seed), such as the unique ID of the chip.
    fn entropy(&self) -> u32 {
        Instant::now().as_ticks() as u32
    }
}

impl HasTimer for EmbassyClock {
    type Timer = EmbassyTimer;

    fn timer(&self) -> EmbassyTimer {
        EmbassyTimer
    }
}

/// The timer of [`embassy_time`], by which an [`EmbassyClock`] sleeps. Zero-sized.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbassyTimer;

impl wait::Timer for EmbassyTimer {
    type Sleep = Timer;

    fn now_ms(&self) -> u64 {
        Instant::now().as_millis()
    }

    fn sleep(&self, ms: u64) -> Timer {
        let time = Duration::try_from_millis(ms).unwrap_or(Duration::MAX);
        Timer::at(Instant::now().saturating_add(time))
    }
}

/// Longer limits, of over a hundred years, count as no limit.
const LONGEST_S: u64 = u32::MAX as u64;

/// Rounded up to milliseconds; `Duration::MAX` is no limit.
impl Limit<EmbassyTimer> for Duration {
    type Counts = OneFailure;

    fn counts(self) -> OneFailure {
        OneFailure
    }

    fn time_limit(self) -> TimeLimit {
        if self.as_secs() > LONGEST_S {
            return TimeLimit::NONE;
        }
        // If it was made from milliseconds, exactly those.
        let ms = self.as_millis();
        let ms = ms + u64::from(Self::from_millis(ms) < self);
        core::time::Duration::from_millis(ms).into()
    }
}
