// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a word means, by the drawing in `atomic_breaker::word`, written down once more.

use atomic_breaker::State;

use crate::form::Form;

/// Rounds lost in a row that are counted.
pub(crate) const MOST_LOST: u32 = 4;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) kind: Kind,
    pub(crate) trips: u32,
    /// In ticks.
    pub(crate) time: u64,
    pub(crate) epoch: u64,
    /// Closed or returning.
    pub(crate) failures: u32,
    /// Open: in ticks, and whether somebody demanded it.
    pub(crate) open_for: u64,
    pub(crate) is_demanded: bool,
    /// Held: whether the other command waits below.
    pub(crate) is_held_twice: bool,
    /// Half-open.
    pub(crate) in_flight: u32,
    pub(crate) successes: u32,
    /// Half-open: rounds that were lost.
    pub(crate) lost: u32,
}

const fn bits(word: u64, at: u32, width: u32) -> u32 {
    (word >> at & ((1 << width) - 1)) as u32
}

/// A small float of so many significant bits: exact while they suffice, then an exponent above the mantissa without its
/// leading one.
pub(crate) const fn open_ticks(code: u32, precision: u32) -> u64 {
    let below = precision - 1;
    let mantissa = (code & ((1 << below) - 1)) as u64;
    match code >> below {
        0 => mantissa,
        exponent => ((1 << below) + mantissa) << (exponent - 1),
    }
}

/// `None` for one that no breaker writes.
pub(crate) fn meaning<F: Form>(word: u64) -> Option<Meaning> {
    let state = bits(word, 0, 2);
    let trips = bits(word, 2, F::TRIPS);
    let payload = bits(word, F::PAYLOAD_AT, F::PAYLOAD);
    let half = F::PAYLOAD / 2;
    let mut meaning = Meaning {
        trips,
        time: u64::from(bits(word, F::TIME_AT, F::TIME)),
        ..Meaning::fresh::<F>(word)
    };
    let is_written = match (state, trips) {
        (0, 0) => {
            meaning.failures = payload;
            payload > 0 || meaning.time == 0
        }
        (0, _) => {
            meaning.kind = Kind::Returning;
            meaning.failures = payload;
            true
        }
        (1, trips) => {
            meaning.kind = Kind::Open;
            meaning.open_for = open_ticks(bits(payload.into(), 0, F::PAYLOAD - 1), F::PRECISION);
            meaning.is_demanded = payload >> (F::PAYLOAD - 1) == 1;
            trips > 0 && meaning.open_for <= F::LONGEST
        }
        (2, _) => {
            meaning.kind = Kind::HalfOpen;
            meaning.in_flight = payload >> half;
            meaning.successes = bits(payload.into(), 0, half);
            true
        }
        (_, 0) => {
            meaning.kind = match payload {
                1 | 4 => Kind::ForcedOpen,
                _ => Kind::Disabled,
            };
            meaning.is_held_twice = payload > 2;
            (1..=4).contains(&payload) && meaning.time == 0
        }
        (_, _) => {
            meaning.kind = Kind::HalfOpen;
            meaning.in_flight = payload >> (F::PAYLOAD - 1);
            meaning.successes = bits(payload.into(), 0, half);
            meaning.lost = 1 + bits(payload.into(), half, half - 1);
            meaning.lost <= MOST_LOST
        }
    };
    is_written.then_some(meaning)
}

impl Meaning {
    /// A fresh, closed breaker in the epoch that the word names: what a word that no breaker writes is taken for.
    pub(crate) const fn fresh<F: Form>(word: u64) -> Self {
        Self {
            kind: Kind::Closed,
            trips: 0,
            time: 0,
            epoch: word >> F::EPOCH_AT,
            failures: 0,
            open_for: 0,
            is_demanded: false,
            is_held_twice: false,
            in_flight: 0,
            successes: 0,
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

    /// Whether its time is that of an event, and not 0 because there is none.
    pub(crate) const fn has_time(&self) -> bool {
        match self.kind {
            Kind::Closed => self.failures > 0,
            Kind::Returning | Kind::Open | Kind::HalfOpen => true,
            Kind::ForcedOpen | Kind::Disabled => false,
        }
    }

    /// How old its time is at a reading of the clock, in ticks; below 0 for a reading that is slightly behind, as after a
    /// step back of the clock.
    pub(crate) const fn age<F: Form>(&self, now: u32) -> i64 {
        let age = (now as u64).wrapping_sub(self.time) % F::RANGE;
        if age >= F::RANGE - F::GUARD {
            age.cast_signed() - F::RANGE.cast_signed()
        } else {
            age.cast_signed()
        }
    }
}
