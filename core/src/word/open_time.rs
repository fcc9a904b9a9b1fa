// SPDX-License-Identifier: MIT OR Apache-2.0
//! The open time as a small float, so that it fits beside everything else in the word.
//!
//! A code is `exponent · 2^(p-1) + mantissa` with `p` significant bits, the leading one implied, as in IEEE 754 without
//! sign: up to `2^p - 1` ticks every value is exact; above, values are rounded **up** by less than one part in
//! `2^(p-1)` (0.1 % in the 64-bit word, 12.5 % in the 32-bit word). The time that rounding adds is subtracted from the
//! stored time, so that the deadline, their sum, is exact.

/// The smallest code whose time is at least `ticks`, and that time.
pub(crate) const fn encode(precision: u32, ticks: u32) -> (u32, u32) {
    let stored = precision - 1;
    let mut mantissa = ticks;
    let mut halvings = 0;
    // A loop, because counting leading zeros takes more code on a chip without an instruction for
    // it.
    while mantissa >> precision != 0 {
        mantissa = mantissa.div_ceil(2);
        halvings += 1;
    }
    // From `2^stored` on the mantissa keeps its leading one, which adds 1 to the exponent.
    ((halvings << stored) + mantissa, mantissa << halvings)
}

/// The time that a code stands for, in ticks.
pub(crate) const fn ticks(precision: u32, code: u32) -> u32 {
    let stored = precision - 1;
    let exponent = code >> stored;
    if exponent == 0 {
        return code;
    }
    ((1 << stored) | (code & ((1 << stored) - 1))) << (exponent - 1)
}
