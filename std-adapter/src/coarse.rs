//! The clock that the kernel keeps for those who do not need it exactly.

use atomic_breaker::Clock;

use crate::StdClock;

/// The coarse monotonic clock of Linux and Android: a time that the kernel stores at each of its
/// ticks, read without asking the processor's counter, which costs most of a refusal otherwise. Has
/// no size.
///
/// It moves in steps of 1 to 10 ms (4 ms on most kernels), so an open time, a lease or a window may
/// end up to one step early or late. On other systems it is [`StdClock`].
///
/// ```
/// use atomic_breaker_std::{Breaker, CoarseClock, Config};
/// use std::time::Duration;
///
/// static SEARCH: Breaker<(), (), CoarseClock> =
///     Breaker::new(Config::new().open_for(Duration::from_secs(1)), CoarseClock);
/// assert!(SEARCH.acquire().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CoarseClock;

impl Clock for CoarseClock {
    #[inline]
    fn now_ms(&self) -> u32 {
        now_ms()
    }

    /// As [`StdClock`]'s: a random number drawn once per process.
    fn entropy(&self) -> u32 {
        StdClock.entropy()
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
#[expect(
    clippy::cast_sign_loss,
    reason = "modulo 2³² by intention; within a second of time there is no sign"
)]
fn now_ms() -> u32 {
    use rustix::time::{ClockId, clock_gettime};

    let now = clock_gettime(ClockId::MonotonicCoarse);
    (now.tv_sec as u32)
        .wrapping_mul(1_000)
        .wrapping_add(now.tv_nsec as u32 / 1_000_000)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn now_ms() -> u32 {
    StdClock.now_ms()
}
