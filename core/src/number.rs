// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as a configuration keeps them, and mixing for random ones.

use core::time::Duration;

/// Milliseconds of a duration, rounded up. A value that does not fit becomes `u32::MAX`, which fails every check.
// In 32 bits where possible: a division of 128 takes 2 KB of flash on a Cortex-M0.
pub(crate) const fn ms(duration: Duration) -> u32 {
    let secs = duration.as_secs();
    if secs > (u32::MAX / 1_000) as u64 {
        return u32::MAX;
    }
    let below = duration.subsec_nanos().div_ceil(1_000_000);
    (secs as u32 * 1_000).saturating_add(below)
}

/// Whole milliseconds of a duration, rounded down.
pub(crate) fn whole_ms(duration: Duration) -> u32 {
    ms(duration.saturating_sub(Duration::from_nanos(999_999)))
}

/// A duration of so many milliseconds, if there is one.
pub(crate) const fn time_of(ms: Option<u32>) -> Option<Duration> {
    match ms {
        Some(ms) => Some(Duration::from_millis(ms as u64)),
        None => None,
    }
}

/// A number that takes a byte; likewise.
pub(crate) const fn byte(number: u32) -> u8 {
    if number > u8::MAX as u32 {
        u8::MAX
    } else {
        number as u8
    }
}

/// A number that takes two bytes; likewise.
pub(crate) const fn half(number: u32) -> u16 {
    if number > u16::MAX as u32 {
        u16::MAX
    } else {
        number as u16
    }
}

/// Mixes the bits of a number: the finalizer of `MurmurHash3` (Austin Appleby, public domain), a
/// bijection in which every input bit flips every output bit with a probability near one half.
pub(crate) const fn scramble(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85EB_CA6B);
    x ^= x >> 13;
    x = x.wrapping_mul(0xC2B2_AE35);
    x ^ x >> 16
}

/// A number divided by 100, and what is left over, by a multiplication: a division takes 400 bytes of flash on a Cortex-M0.
pub(crate) const fn by_hundred(x: u32) -> (u32, u32) {
    // 2³⁷ / 100, rounded up: exact for every `u32`.
    let whole = ((x as u64 * 0x51EB_851F) >> 37) as u32;
    (whole, x - whole * 100)
}
