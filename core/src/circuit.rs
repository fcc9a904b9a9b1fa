//! The content of a word as a value: what the machine works on.

use crate::error::{CorruptWord, Fault};
use crate::state::State;
use crate::word::{Bits, Field, Layout, open_time};

/// The content of a word, sound by construction. Looked at and changed field by field, so that a
/// step of the machine is a few shifts and masks. Times and durations are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circuit<B>(B);

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const HALF_OPEN: u32 = 2;
const HELD: u32 = 3;

// Of a held word, in `load`.
const FORCED_OPEN: u32 = 1;
const DISABLED: u32 = 2;

impl<B: Bits> Circuit<B> {
    /// The circuit of a word, if any breaker makes such a word.
    pub(crate) fn decode(word: B) -> Result<Self, CorruptWord> {
        let circuit = Self(word);
        match circuit.fault() {
            None => Ok(circuit),
            Some(fault) => Err(CorruptWord::new(word.to_u64(), fault)),
        }
    }

    /// What takes the place of a word that no breaker makes: fresh and closed, in the next epoch, so
    /// that permits granted before are stale.
    pub(crate) fn healed(corrupt: B) -> Self {
        Self(corrupt).enter(State::Closed)
    }

    fn fault(self) -> Option<Fault> {
        let load = self.get(B::LAYOUT.load);
        let (trips, time) = (self.trips(), self.time());
        match self.get(B::LAYOUT.state) {
            CLOSED if trips != 0 => Some(Fault::ClosedWithTrips),
            CLOSED if load == 0 && time != 0 => Some(Fault::WindowWithoutFailures),
            OPEN if trips == 0 => Some(Fault::OpenWithoutTrips),
            OPEN if load > const { longest_code(B::LAYOUT) } => Some(Fault::OpenTooLong),
            HELD if trips != 0 || time != 0 => Some(Fault::NotHeld),
            HELD if load != FORCED_OPEN && load != DISABLED => Some(Fault::NotHeld),
            _ => None,
        }
    }

    /// The word.
    #[inline]
    pub(crate) fn bits(self) -> B {
        self.0
    }

    #[inline]
    pub(crate) fn state(self) -> State {
        match self.get(B::LAYOUT.state) {
            CLOSED => State::Closed,
            OPEN => State::Open,
            HALF_OPEN => State::HalfOpen,
            _ if self.get(B::LAYOUT.load) == FORCED_OPEN => State::ForcedOpen,
            _ => State::Disabled,
        }
    }

    #[inline]
    pub(crate) fn epoch(self) -> u32 {
        self.get(B::LAYOUT.epoch)
    }

    /// Trips in a row.
    #[inline]
    pub(crate) fn trips(self) -> u32 {
        self.get(B::LAYOUT.trips)
    }

    /// Closed: start of the window of failures, 0 when none is open. Open: when it opened.
    /// Half-open: the last admission.
    #[inline]
    pub(crate) fn time(self) -> u32 {
        self.get(B::LAYOUT.time)
    }

    /// While closed.
    #[inline]
    pub(crate) fn failures(self) -> u32 {
        self.get(B::LAYOUT.load)
    }

    /// While open.
    #[inline]
    pub(crate) fn open_for(self) -> u32 {
        open_time::ticks(B::LAYOUT.precision, self.get(B::LAYOUT.load))
    }

    /// While half-open.
    #[inline]
    pub(crate) fn in_flight(self) -> u32 {
        self.get(B::LAYOUT.in_flight)
    }

    /// While half-open.
    #[inline]
    pub(crate) fn successes(self) -> u32 {
        self.get(B::LAYOUT.successes)
    }

    /// Whether a field is what it was in `other`.
    #[inline]
    pub(crate) fn agrees(self, other: B, field: Field) -> bool {
        field.get(self.0.to_u64() ^ other.to_u64()) == 0
    }

    /// The next epoch, in `state`, with nothing counted yet.
    #[inline]
    pub(crate) fn enter(self, state: State) -> Self {
        let epoch = (self.epoch() + 1) & B::LAYOUT.epoch.max();
        let (state, load) = match state {
            State::Closed => (CLOSED, 0),
            State::Open => (OPEN, 0),
            State::HalfOpen => (HALF_OPEN, 0),
            State::ForcedOpen => (HELD, FORCED_OPEN),
            State::Disabled => (HELD, DISABLED),
        };
        let layout = B::LAYOUT;
        let bits = layout.state.put(state) | layout.load.put(load) | layout.epoch.put(epoch);
        Self(B::from_u64(bits))
    }

    /// Closed in the same epoch, with nothing counted.
    #[inline]
    pub(crate) fn cleared(self) -> Self {
        let epoch = B::LAYOUT.epoch;
        Self(B::from_u64(epoch.put(epoch.get(self.0.to_u64()))))
    }

    #[inline]
    pub(crate) fn with_trips(self, trips: u32) -> Self {
        self.set(B::LAYOUT.trips, trips)
    }

    #[inline]
    pub(crate) fn with_time(self, time: u32) -> Self {
        self.set(B::LAYOUT.time, time)
    }

    #[inline]
    pub(crate) fn with_failures(self, failures: u32) -> Self {
        self.set(B::LAYOUT.load, failures)
    }

    /// Stored rounded up; [`open_for`](Self::open_for) tells what was stored.
    #[inline]
    pub(crate) fn with_open_for(self, ticks: u32) -> Self {
        let code = open_time::code(B::LAYOUT.precision, ticks);
        self.set(B::LAYOUT.load, code)
    }

    #[inline]
    pub(crate) fn with_probes(self, in_flight: u32, successes: u32) -> Self {
        self.set(B::LAYOUT.in_flight, in_flight)
            .set(B::LAYOUT.successes, successes)
    }

    #[inline]
    fn get(self, field: Field) -> u32 {
        field.get(self.0.to_u64())
    }

    /// Every value that the machine sets fits: counts are bounded by the checked configuration,
    /// times are masked by [`Timeline`](crate::time::Timeline).
    #[inline]
    fn set(self, field: Field, value: u32) -> Self {
        let others = self.0.to_u64() & !field.mask();
        Self(B::from_u64(others | field.put(value)))
    }
}

const fn longest_code(layout: Layout) -> u32 {
    open_time::code(layout.precision, layout.max_ticks())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 2³² narrow words would take a minute; the time field has no invalid values outside the
    /// cases below, so four of them stand for the rest.
    #[test]
    fn so_many_narrow_words_are_sound() {
        let mut valid = 0_u32;
        for low in 0..1_u32 << 17 {
            for time in [0, 1, 0x3FFF, 0x7FFF] {
                let word = time << 17 | low;
                valid += u32::from(Circuit::decode(word).is_ok());
            }
        }
        // Per epoch: closed 1 + 4 · 255, open 7 trips · 177 codes · 4 times, half-open 8 · 256 · 4,
        // held 2.
        assert_eq!(valid, 16 * (1021 + 7 * 177 * 4 + 8 * 256 * 4 + 2));
    }

    #[test]
    fn the_zero_word_is_fresh_and_closed_in_both_layouts() {
        fn is_fresh<B: Bits>() -> bool {
            Circuit::decode(B::FRESH).is_ok_and(|circuit| {
                circuit.state() == State::Closed && circuit == circuit.cleared()
            })
        }
        assert!(is_fresh::<u32>());
        assert!(is_fresh::<u64>());
    }
}
