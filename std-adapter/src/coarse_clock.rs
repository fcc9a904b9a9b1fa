// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's clock for callers that do not need exact times.

use atomic_breaker::Clock;

use crate::std_clock::StdClock;

/// The coarse monotonic clock of Linux and Android: a time that the kernel stores at each of its ticks. A
/// reading does without querying the processor's counter, which otherwise is most of the cost of a
/// rejection. Zero-sized.
///
/// It moves in steps of 1 to 10 ms (4 ms on most kernels), so an open time, a lease or a window may
/// end up to one step early or late. On other systems it is [`StdClock`].
///
/// On Linux and Android it reads the same in all processes of a time namespace, so there it is a
/// [`SharedClock`](crate::SharedClock). It stops while the machine is suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoarseClock;

impl Clock for CoarseClock {
    #[inline]
    fn now_ms(&self) -> u32 {
        now_ms()
    }

    /// A different number in each process, as for [`StdClock`].
    fn entropy(&self) -> u32 {
        StdClock.entropy()
    }
}

/// On these systems it is the kernel's own reading, without an origin that belongs to this process.
#[cfg(any(target_os = "linux", target_os = "android"))]
impl crate::SharedClock for CoarseClock {}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
fn now_ms() -> u32 {
    crate::kernel::now_ms(rustix::time::ClockId::MonotonicCoarse)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn now_ms() -> u32 {
    StdClock.now_ms()
}
