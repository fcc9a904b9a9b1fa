//! The breaker's time, from embassy.

use atomic_breaker::Clock;
use atomic_breaker::wait;
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

/// The timer of [`embassy_time`], for the functions of [`wait`]. Zero-sized.
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
