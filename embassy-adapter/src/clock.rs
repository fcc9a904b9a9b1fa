//! The breaker's time, from embassy.

use atomic_breaker::Clock;
use embassy_time::Instant;

/// The time since boot, as [`embassy_time`] tells it. Has no size.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbassyClock;

impl Clock for EmbassyClock {
    fn now_ms(&self) -> u32 {
        // The low half of a count that never ends: modulo 2³², as the breaker wants it.
        Instant::now().as_millis() as u32
    }
}
