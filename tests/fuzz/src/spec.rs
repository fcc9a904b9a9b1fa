// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of a word, by the drawing in `atomic_breaker::word`, written down once more.

use atomic_breaker::State;

use crate::form::Form;

/// Rounds lost in a row that are counted, less the first one.
const MOST_LOST: u32 = 3;

/// A word that a breaker may have written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    pub(crate) state: State,
    /// In ticks.
    pub(crate) time: u64,
    /// Open: in ticks.
    pub(crate) open_for: u64,
}

const fn bits(word: u64, at: u32, width: u32) -> u32 {
    (word >> at & ((1 << width) - 1)) as u32
}

/// A small float of so many significant bits: exact while they suffice, then an exponent above the mantissa without its
/// leading one.
const fn open_ticks(code: u32, precision: u32) -> u64 {
    let below = precision - 1;
    let mantissa = (code & ((1 << below) - 1)) as u64;
    match code >> below {
        0 => mantissa,
        exponent => ((1 << below) + mantissa) << (exponent - 1),
    }
}

/// `None` for one that no breaker writes.
pub(crate) fn meaning<F: Form>(word: u64) -> Option<Meaning> {
    let trips = bits(word, 2, F::TRIPS);
    let payload = bits(word, F::PAYLOAD_AT, F::PAYLOAD);
    let time = u64::from(bits(word, F::TIME_AT, F::TIME));
    // The bit above says whether somebody demanded it.
    let open_for = open_ticks(payload & ((1 << (F::PAYLOAD - 1)) - 1), F::PRECISION);
    let (state, is_written) = match (bits(word, 0, 2), trips) {
        (0, 0) => (State::Closed, payload > 0 || time == 0),
        (0, _) => (State::Returning, true),
        (1, trips) => (State::Open, trips > 0 && open_for <= F::LONGEST),
        (2, _) => (State::HalfOpen, true),
        // Held, alone or over the other command.
        (_, 0) => match payload {
            1 | 4 => (State::ForcedOpen, time == 0),
            _ => (State::Disabled, matches!(payload, 2 | 3) && time == 0),
        },
        // After lost rounds.
        (_, _) => {
            let half = F::PAYLOAD / 2;
            let lost = bits(payload.into(), half, half - 1);
            (State::HalfOpen, lost <= MOST_LOST)
        }
    };
    is_written.then_some(Meaning {
        state,
        time,
        open_for,
    })
}

impl Meaning {
    /// The age of its time at a reading of the clock, in ticks; below 0 for a reading that is slightly behind, as after a
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
