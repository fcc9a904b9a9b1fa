//! Numbers as a configuration keeps them.

use core::time::Duration;

/// Milliseconds of a duration, rounded up. What does not fit is `u32::MAX`, which no check passes.
pub(crate) const fn ms(duration: Duration) -> u32 {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    if ms > u32::MAX as u128 {
        u32::MAX
    } else {
        ms as u32
    }
}

/// A number that takes a byte. What does not fit is `u8::MAX`, which no check passes.
pub(crate) const fn byte(number: u32) -> u8 {
    if number > u8::MAX as u32 {
        u8::MAX
    } else {
        number as u8
    }
}

/// A number that takes two bytes. What does not fit is `u16::MAX`, which no check passes.
pub(crate) const fn half(number: u32) -> u16 {
    if number > u16::MAX as u32 {
        u16::MAX
    } else {
        number as u16
    }
}
