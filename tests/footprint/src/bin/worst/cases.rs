// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cases that an operation may meet: every kind of word, of age and of permit, under each set of rules.

use core::fmt;

use atomic_breaker::State;
use atomic_breaker::word::Bits;
use portable_atomic::Ordering::Relaxed;

use crate::operations::{CHOSEN, DICE, GRANTED, NOW, STARTED, WORD, look};
use crate::rules::{COUNT, describe};

/// One case: the word, the clock, the rules and the permit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Case {
    rules: usize,
    pub(crate) word: u32,
    granted: u32,
    started_ms: u32,
}

// The fields of a 32-bit word, as the documentation of `word` draws them.
const STATE: u32 = 0;
const TRIPS: u32 = 2;
const PAYLOAD: u32 = 5;
const HIGH_HALF: u32 = 9;
const TIME: u32 = 13;
const EPOCH: u32 = 28;
const BELOW_EPOCH: u32 = (1 << EPOCH) - 1;

const TICK_LOG2: u32 = 6;

/// Trips in a row: none, the first, and as many as are counted.
const TRIPS_IN_A_ROW: [u32; 3] = [0, 1, 7];

/// Payloads of each state, on both sides of each comparison.
const PAYLOADS: [&[u32]; 4] = [
    // Closed, returning: no failure, one, one less than trips, many, as many as are counted.
    &[0, 1, 4, 64, 255],
    // Open: no time, the longest that is exact, one more, the longest, and that of no breaker; demanded.
    &[0, 7, 8, 96, 97, 0x80 | 8, 0x80 | 96],
    // Half-open: no probe, one, two; the success that closes is missing; as many as are counted.
    &[0x00, 0x10, 0x20, 0x12, 0xFF],
    // Held: no command, the four, no command; half-open after lost rounds: one to four, more than are counted.
    &[0, 1, 2, 3, 4, 5, 0x80, 0x30, 0xB0, 0xB2, 0x40],
];

/// Ticks since the stored time: the clock far behind it, at the guard band, just behind; none, a few; the lease and
/// the window, and more; the longest time, and so many that they have wrapped.
const AGES: [u32; 14] = [
    0_u32.wrapping_sub(1_000),
    0_u32.wrapping_sub(64),
    0_u32.wrapping_sub(1),
    0,
    1,
    3,
    4,
    7,
    16,
    17,
    300,
    16_383,
    16_384,
    20_000,
];

/// The reading of the clock.
const NOW_MS: u32 = 10_000_001;

/// Each case for an operation, with permits if it ends one.
pub(crate) fn each(needs_permit: bool, mut look_at: impl FnMut(Case)) {
    for rules in 0..COUNT {
        for word in words() {
            let case = Case {
                rules,
                word,
                ..Case::default()
            };
            if needs_permit {
                case.with_permits(&mut look_at);
            } else {
                look_at(case);
            }
        }
    }
}

fn words() -> impl Iterator<Item = u32> {
    let states = (0..4_u32).flat_map(|state| TRIPS_IN_A_ROW.map(|trips| (state, trips << TRIPS)));
    let bodies = states.flat_map(|(state, trips)| {
        let payloads = PAYLOADS[state as usize].iter();
        payloads.map(move |payload| state | trips | payload << PAYLOAD)
    });
    bodies.flat_map(|it| {
        let timed = AGES.map(|age| it | time(age));
        // Without a time: fresh, or held.
        timed.into_iter().chain([it]).map(|it| it | 15 << EPOCH)
    })
}

/// The time so many ticks ago.
const fn time(age: u32) -> u32 {
    ((NOW_MS >> TICK_LOG2).wrapping_sub(age) & 0x7FFF) << TIME
}

impl Case {
    fn with_permits(self, look_at: &mut impl FnMut(Self)) {
        let one_trip_less = (self.word >> TRIPS & 7).saturating_sub(1) << TRIPS;
        let round_before = self.word.wrapping_sub(1 << EPOCH) & !BELOW_EPOCH;
        let granted = [
            // It holds.
            self.word,
            // Of another probe of the same round, or a call while closed.
            self.word ^ 1 << TIME ^ 1 << PAYLOAD,
            // Of the round before.
            self.word.wrapping_sub(1 << EPOCH),
            // Of the time before the breaker opened: closed, half-open.
            one_trip_less | round_before,
            one_trip_less | round_before | 2 << STATE,
            // Of long ago.
            0,
        ];
        for granted in granted {
            for started_ms in [0, NOW_MS.wrapping_sub(10_000)] {
                look_at(Self {
                    granted,
                    started_ms,
                    ..self
                });
            }
        }
    }

    /// Words that another caller may have left: each operation that writes at all writes over one of them.
    pub(crate) fn others(self) -> [u32; 6] {
        let old = time(16_384);
        let epoch = self.granted & !BELOW_EPOCH;
        let same = self.granted & !(0xFF << PAYLOAD);
        [
            // What a permit was granted for, with one failure or one success, or with one probe in flight.
            same | 1 << PAYLOAD,
            same | 1 << HIGH_HALF,
            // Open, its time over; half-open with a free slot; closed with a failure; forced open.
            epoch | 1 << STATE | 1 << TRIPS | 1 << PAYLOAD | old,
            epoch | 2 << STATE | 1 << TRIPS | old,
            epoch | 1 << PAYLOAD | old,
            epoch | 3 << STATE | 1 << PAYLOAD,
        ]
    }

    /// The same with another word.
    pub(crate) fn over(self, word: u32) -> Self {
        Self { word, ..self }
    }

    /// Sets the stage, where another caller has left `found` since the word was read.
    pub(crate) fn prepare(self, found: u32) {
        CHOSEN.store(self.rules as u32, Relaxed);
        NOW.store(NOW_MS, Relaxed);
        // The same for the same case, another one for each.
        DICE.store(self.word ^ self.rules as u32, Relaxed);
        GRANTED.store(self.granted, Relaxed);
        STARTED.store(self.started_ms, Relaxed);
        WORD.set(self.word, found);
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prepare(self.word);
        let seen = look();
        let state = match seen.entered() {
            _ if self.word.check().is_err() => "an invalid word",
            State::Closed if seen.failures() == 0 => "closed",
            State::Closed => "closed, failures counted",
            State::Returning if seen.wait().is_none() => "returning, over",
            State::Returning => "returning",
            State::Open if seen.is_due() => "open, over",
            State::Open => "open",
            State::HalfOpen if seen.wait().is_some() => "half-open, no slot free",
            State::HalfOpen if seen.lost_rounds() > 0 => "half-open after lost rounds",
            State::HalfOpen => "half-open",
            State::ForcedOpen => "forced open",
            _ => "disabled",
        };
        f.write_str(state)?;
        describe(self.rules, f)
    }
}
