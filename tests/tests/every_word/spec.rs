// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a 32-bit word means, by the drawing in `atomic_breaker::word`, written down once more.

use atomic_breaker::State;

/// The ticks that a time can differ by: the range of the field, and the step back of a clock that is tolerated.
pub(crate) const RANGE: u32 = 1 << 15;
pub(crate) const LONGEST: u32 = RANGE / 2;
pub(crate) const GUARD: u32 = 64;

/// Rounds lost in a row that are counted.
const MOST_LOST: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Closed,
    Returning,
    Open,
    HalfOpen,
    ForcedOpen,
    Disabled,
}

/// A word that a breaker may have written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    pub(crate) kind: Kind,
    pub(crate) trips: u32,
    /// In ticks.
    pub(crate) time: u32,
    pub(crate) epoch: u32,
    /// Open: in ticks.
    pub(crate) open_for: u32,
    /// Half-open.
    pub(crate) in_flight: u32,
    /// Half-open: rounds that were lost.
    pub(crate) lost: u32,
}

const fn bits(word: u32, shift: u32, width: u32) -> u32 {
    word >> shift & ((1 << width) - 1)
}

/// A small float with four significant bits: exact up to 15, then an exponent above three bits of mantissa.
pub(crate) const fn open_ticks(code: u32) -> u32 {
    match (code >> 3, code & 7) {
        (0, mantissa) => mantissa,
        (exponent, mantissa) => (8 + mantissa) << (exponent - 1),
    }
}

/// `None` for one that no breaker writes.
pub(crate) fn meaning(word: u32) -> Option<Meaning> {
    let state = bits(word, 0, 2);
    let trips = bits(word, 2, 3);
    let payload = bits(word, 5, 8);
    let time = bits(word, 13, 15);
    let mut meaning = Meaning {
        kind: Kind::Closed,
        trips,
        time,
        epoch: bits(word, 28, 4),
        open_for: 0,
        in_flight: 0,
        lost: 0,
    };
    let is_written = match (state, trips) {
        (0, 0) => payload > 0 || time == 0,
        (0, _) => {
            meaning.kind = Kind::Returning;
            true
        }
        (1, trips) => {
            meaning.kind = Kind::Open;
            meaning.open_for = open_ticks(payload & 0x7F);
            trips > 0 && meaning.open_for <= LONGEST
        }
        (2, _) => {
            meaning.kind = Kind::HalfOpen;
            meaning.in_flight = payload >> 4;
            true
        }
        (_, 0) => {
            meaning.kind = match payload {
                1 | 4 => Kind::ForcedOpen,
                _ => Kind::Disabled,
            };
            (1..=4).contains(&payload) && time == 0
        }
        (_, _) => {
            meaning.kind = Kind::HalfOpen;
            meaning.in_flight = payload >> 7;
            meaning.lost = 1 + bits(payload, 4, 3);
            meaning.lost <= MOST_LOST
        }
    };
    is_written.then_some(meaning)
}

impl Meaning {
    /// What a word that no breaker writes is taken for: a fresh, closed breaker in the epoch that the word names.
    pub(crate) const fn of_corrupt(word: u32) -> Self {
        Self {
            kind: Kind::Closed,
            trips: 0,
            time: 0,
            epoch: bits(word, 28, 4),
            open_for: 0,
            in_flight: 0,
            lost: 0,
        }
    }

    pub(crate) const fn state(&self) -> State {
        match self.kind {
            Kind::Closed => State::Closed,
            Kind::Returning => State::Returning,
            Kind::Open => State::Open,
            Kind::HalfOpen => State::HalfOpen,
            Kind::ForcedOpen => State::ForcedOpen,
            Kind::Disabled => State::Disabled,
        }
    }

    /// How old its time is at a reading of the clock, in ticks; below 0 for a reading that is slightly behind, as after a
    /// step back of the clock.
    pub(crate) const fn age(&self, now: u32) -> i32 {
        let age = now.wrapping_sub(self.time) % RANGE;
        if age >= RANGE - GUARD {
            age.cast_signed() - RANGE.cast_signed()
        } else {
            age.cast_signed()
        }
    }
}
