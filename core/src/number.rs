//! Numbers as a configuration keeps them, and mixing for random ones.

use core::time::Duration;

/// Milliseconds of a duration, rounded up. A value that does not fit becomes `u32::MAX`, which fails every check.
pub(crate) const fn ms(duration: Duration) -> u32 {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    if ms > u32::MAX as u128 {
        u32::MAX
    } else {
        ms as u32
    }
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
