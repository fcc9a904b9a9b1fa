//! Which words are the state of a breaker.

use super::code::{CLOSED, FORCED_OPEN_OVER_DISABLED, OPEN, OTHER};
use super::{Bits, Layout, Peek, open_time};
use crate::error::Fault;

/// Whether a breaker could have written such a word: whether it has no [`fault`], in few instructions.
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) fn is_valid<B: Bits>(word: B) -> bool {
    let (layout, bits) = (B::LAYOUT, word.to_u64());
    let load = layout.load.get(bits);
    let state = layout.state.get(bits);
    if state == OPEN {
        let longest = const { longest_code(B::LAYOUT) };
        layout.trips.get(bits) != 0 && layout.open_for.get(bits) <= longest
    } else if word.is_closed() {
        load != 0 || layout.time.get(bits) == 0
    } else if word.is_held() {
        load.wrapping_sub(1) < FORCED_OPEN_OVER_DISABLED && layout.time.get(bits) == 0
    } else {
        state != OTHER || layout.lost.get(bits) < layout.max_lost
    }
}

/// What is wrong with such a word, if no breaker could have written it.
pub(crate) fn fault<B: Bits>(word: B) -> Option<Fault> {
    let (layout, bits) = (B::LAYOUT, word.to_u64());
    let (load, trips) = (layout.load.get(bits), layout.trips.get(bits));
    let has_time = layout.time.get(bits) != 0;
    match layout.state.get(bits) {
        CLOSED if trips == 0 && load == 0 && has_time => Some(Fault::WindowWithoutFailures),
        OPEN if trips == 0 => Some(Fault::OpenWithoutTrips),
        OPEN if layout.open_for.get(bits) > const { longest_code(B::LAYOUT) } => {
            Some(Fault::OpenTooLong)
        }
        OTHER if trips != 0 => {
            (layout.lost.get(bits) >= layout.max_lost).then_some(Fault::LostTooOften)
        }
        // 0 is no command, and wraps to a number above all of them.
        OTHER if has_time || load.wrapping_sub(1) >= FORCED_OPEN_OVER_DISABLED => {
            Some(Fault::NotHeld)
        }
        _ => None,
    }
}

const fn longest_code(layout: Layout) -> u32 {
    open_time::encode(layout.precision, layout.max_ticks()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 2³² narrow words would take a minute; the time field has no invalid values outside the
    /// cases below, so four of them stand for the rest.
    #[test]
    fn so_many_narrow_words_are_sound() {
        let mut valid = 0_u32;
        for rest in 0..1_u32 << 17 {
            for time in [0, 1, 0x3FFF, 0x7FFF] {
                let (epoch, low) = (rest >> 13, rest & 0x1FFF);
                let word = epoch << 28 | time << 13 | low;
                let is_valid = is_valid(word);
                assert_eq!(is_valid, fault(word).is_none(), "{word:#x}");
                valid += u32::from(is_valid);
            }
        }
        // Per epoch: closed 1 + 4 · 255, returning 7 trips · 256 · 4 times, open 7 · 2 · 97 codes · 4,
        // half-open 8 · 256 · 4, after lost rounds 7 · 2 · 4 · 16 · 4, held 4.
        let returning = 7 * 256 * 4;
        let lost = 7 * 2 * 4 * 16 * 4;
        let half_open = 8 * 256 * 4;
        assert_eq!(
            valid,
            16 * (1021 + returning + lost + 7 * 2 * 97 * 4 + half_open + 4)
        );
    }

    #[test]
    fn a_wide_word_is_valid_exactly_if_it_has_no_fault() {
        let mut word = 1_u64;
        for _ in 0..1_000_000 {
            // Xorshift (Marsaglia, 2003), with few bits besides the state in every second word.
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            for word in [word, word & 0xFF80_007F, word & 3 | word >> 60 << 7] {
                assert_eq!(is_valid(word), fault(word).is_none(), "{word:#x}");
            }
        }
    }
}
