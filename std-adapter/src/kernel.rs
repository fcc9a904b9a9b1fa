// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clocks of the kernel.

use rustix::time::{ClockId, clock_gettime};

/// A clock's reading in milliseconds, modulo 2³².
#[inline]
#[expect(
    clippy::cast_sign_loss,
    reason = "modulo 2³² by intention; within a second of time there is no sign"
)]
pub(crate) fn now_ms(clock: ClockId) -> u32 {
    let now = clock_gettime(clock);
    (now.tv_sec as u32)
        .wrapping_mul(1_000)
        .wrapping_add(now.tv_nsec as u32 / 1_000_000)
}
