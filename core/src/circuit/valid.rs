//! Which words are the state of a breaker.

use super::{CLOSED, Circuit, FORCED_OPEN_OVER_DISABLED, OPEN, OTHER};
use crate::error::{CorruptWord, Fault};
use crate::word::{Bits, Layout, open_time};

impl<B: Bits> Circuit<B> {
    /// The circuit of a word, if any breaker makes such a word.
    pub(crate) fn decode(word: B) -> Result<Self, CorruptWord> {
        match Self(word).fault() {
            None => Ok(Self(word)),
            Some(fault) => Err(CorruptWord::new(word.to_u64(), fault)),
        }
    }

    /// Whether any breaker makes such a word: whether it has no [`fault`](Self::fault), in few
    /// instructions.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) fn is_valid(word: B) -> bool {
        let circuit = Self(word);
        let bits = word.to_u64() & const { B::LAYOUT.state.mask() | B::LAYOUT.trips.mask() };
        let load = circuit.get(B::LAYOUT.load);
        if circuit.is_open() {
            let longest = const { longest_code(B::LAYOUT) };
            circuit.trips() != 0 && circuit.get(B::LAYOUT.open_for) <= longest
        } else if bits == 0 {
            load != 0 || circuit.time() == 0
        } else if bits == Self::HELD {
            load.wrapping_sub(1) < FORCED_OPEN_OVER_DISABLED && circuit.time() == 0
        } else {
            circuit.lost() <= B::LAYOUT.max_lost || circuit.counts_failures()
        }
    }

    #[inline]
    fn fault(self) -> Option<Fault> {
        let load = self.get(B::LAYOUT.load);
        let (trips, time) = (self.trips(), self.time());
        match self.get(B::LAYOUT.state) {
            CLOSED if trips == 0 && load == 0 && time != 0 => Some(Fault::WindowWithoutFailures),
            OPEN if trips == 0 => Some(Fault::OpenWithoutTrips),
            OPEN if self.get(B::LAYOUT.open_for) > const { longest_code(B::LAYOUT) } => {
                Some(Fault::OpenTooLong)
            }
            OTHER if trips != 0 => {
                (self.lost() > B::LAYOUT.max_lost).then_some(Fault::LostTooOften)
            }
            OTHER if time != 0 || load.wrapping_sub(1) >= FORCED_OPEN_OVER_DISABLED => {
                Some(Fault::NotHeld)
            }
            _ => None,
        }
    }
}

const fn longest_code(layout: Layout) -> u32 {
    open_time::encode(layout.precision, layout.max_ticks()).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;

    /// All 2³² narrow words would take a minute; the time field has no invalid values outside the
    /// cases below, so four of them stand for the rest.
    #[test]
    fn so_many_narrow_words_are_sound() {
        let mut valid = 0_u32;
        for rest in 0..1_u32 << 17 {
            for time in [0, 1, 0x3FFF, 0x7FFF] {
                let (epoch, low) = (rest >> 13, rest & 0x1FFF);
                let word = epoch << 28 | time << 13 | low;
                let is_valid = Circuit::is_valid(word);
                assert_eq!(is_valid, Circuit::decode(word).is_ok(), "{word:#x}");
                valid += u32::from(is_valid);
            }
        }
        // Per epoch: closed 1 + 4 · 255, returning 7 trips · 256 · 4 times, open 7 · 2 · 97 codes · 4,
        // half-open 8 · 256 · 4, after lost rounds 7 · 256 · 4, held 4.
        let returning_and_lost = 2 * 7 * 256 * 4;
        let half_open = 8 * 256 * 4;
        assert_eq!(
            valid,
            16 * (1021 + returning_and_lost + 7 * 2 * 97 * 4 + half_open + 4)
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
                assert_eq!(
                    Circuit::is_valid(word),
                    Circuit::decode(word).is_ok(),
                    "{word:#x}"
                );
            }
        }
    }

    #[test]
    fn the_zero_word_is_fresh_and_closed_in_both_layouts() {
        fn is_fresh<B: Bits>() -> bool {
            Circuit::decode(B::FRESH)
                .is_ok_and(|circuit| circuit.state() == State::Closed && circuit.failures() == 0)
        }
        assert!(is_fresh::<u32>());
        assert!(is_fresh::<u64>());
    }
}
