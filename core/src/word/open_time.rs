//! The open time as a small float, so that it fits beside everything else in the word.
//!
//! A code is `exponent · 2^(p-1) + mantissa` with `p` significant bits, the leading one implied, as
//! in IEEE 754 without sign: up to `2^p - 1` ticks every value is exact; above, values are rounded
//! **up** by less than one part in `2^(p-1)` (0.1 % in the 64-bit word, 12.5 % in the 32-bit word).
//! What rounding adds is subtracted from the stored time, so that the deadline, their sum, is
//! exact.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::Layout;

    fn law(layout: Layout, wanted: u32) {
        let precision = layout.precision;
        let (code, stored) = encode(precision, wanted);
        let got = ticks(precision, code);
        assert_eq!(got, stored);
        let step = 1 << (precision - 1);
        assert!(got >= wanted, "{wanted} ticks rounded down to {got}");
        assert!(
            u64::from(got - wanted) * step <= u64::from(wanted),
            "{wanted} ticks rounded up to {got}, too far"
        );
        assert!(
            code == 0 || ticks(precision, code - 1) < wanted,
            "{wanted} ticks has a smaller code than {code}"
        );
    }

    #[test]
    fn every_narrow_open_time_rounds_up_to_the_next_code() {
        for wanted in 0..=Layout::NARROW.max_ticks() {
            law(Layout::NARROW, wanted);
        }
    }

    #[test]
    fn wide_open_times_round_up_to_the_next_code_around_every_power_of_two() {
        for power in 0..31 {
            for offset in -3_i64..=3 {
                let wanted = (1_i64 << power) + offset;
                if let Ok(wanted) = u32::try_from(wanted) {
                    law(Layout::WIDE, wanted);
                }
            }
        }
        law(Layout::WIDE, Layout::WIDE.max_ticks());
    }
}
