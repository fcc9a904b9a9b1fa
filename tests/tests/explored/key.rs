// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that tell two worlds apart.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use atomic_breaker::word::Bits;
use tests::reference::{Growth, Mode, Reference, Rules, Trip};

use super::world::{Cell, Held, RuleSet, World};

/// Ages beyond these are one age, under all rules of a search; in ticks if not noted otherwise. They are three
/// more than the measured times: two for rounding, one for the step back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ages {
    window: u64,
    lease: u64,
    over: u64,
    cancel_limit: u64,
    slow_ms: Option<u64>,
}

const MORE: u64 = 3;

impl Ages {
    pub(crate) fn of<B>(sets: &[RuleSet<B>]) -> Self {
        let mut ages = Self::default();
        for Rules {
            trip,
            lease,
            cancel_limit,
            returning,
            slow,
            growth,
            grain,
            ..
        } in sets.iter().map(|set| set.plain)
        {
            let ticks = |ms: u64| ms.div_ceil(grain.tick);
            if let Trip::Within(_, time) | Trip::Lasting(_, time) = trip {
                ages.window = ages.window.max(ticks(time));
            }
            ages.lease = ages.lease.max(ticks(lease));
            let kept = growth.map_or(0, Growth::max);
            let over = returning.map_or(0, |back| back.over).max(kept);
            ages.over = ages.over.max(ticks(over));
            ages.cancel_limit = ages.cancel_limit.max(ticks(cancel_limit));
            ages.slow_ms = ages.slow_ms.max(slow);
        }
        ages
    }

    /// The oldest age of the stored time that matters in a mode.
    pub(crate) fn oldest(self, mode: &Mode) -> u64 {
        MORE + match mode {
            Mode::Closed { .. } => self.window,
            Mode::Open { lasts, .. } => *lasts,
            Mode::Probing { lost_rounds, .. } => self.lease << lost_rounds,
            // Of the return, or of a row that has reached its limit.
            Mode::Returning { .. } => self.over.max(self.window),
            Mode::Held(_) => 0,
        }
    }
}

/// Fingerprints of worlds: hashed already, so that the set need not hash them.
pub(crate) type Keys = HashSet<(u64, u64), BuildHasherDefault<AsItIs>>;

/// The last number of a fingerprint.
#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("fingerprints are made of `u64`");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A world as numbers: worlds with the same numbers are one state.
pub(crate) struct Key<'a, W: Cell> {
    world: &'a World<W::Bits>,
    ages: Ages,
    print: [u64; 2],
}

impl<'a, W: Cell> Key<'a, W> {
    /// A fingerprint of 128 bits, so that two different keys among millions meet with a chance below
    /// one in 10²⁴.
    pub(crate) fn of(world: &'a World<W::Bits>, ages: Ages) -> (u64, u64) {
        let mut key = Self {
            world,
            ages,
            print: [0; 2],
        };
        key.word();
        key.reference();
        key.permits();
        key.print.into()
    }

    /// Takes up numbers by multiplying and folding, as wyhash does, in each half with a factor of its own.
    fn add<const N: usize>(&mut self, numbers: [u64; N]) {
        const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
        for number in numbers {
            for (half, factor) in self.print.iter_mut().zip(FACTORS) {
                let product = u128::from(*half ^ number ^ factor) * u128::from(factor);
                *half = (product >> 64) as u64 ^ product as u64 ^ number.rotate_left(32);
            }
        }
    }

    fn seen(&self) -> &'a Reference {
        &self.world.reference
    }

    /// The tick of now.
    fn now(&self) -> u64 {
        self.seen().now / self.seen().rules.grain.tick
    }

    /// The age of a time in a word, up to the oldest that matters. A time just ahead of now, which
    /// is a large number as it wraps, is told apart from all ages.
    fn age_in_word(&self, word: W::Bits, oldest: u64) -> u64 {
        let modulus = 1_u64 << W::TIME.1;
        let age = self.now().wrapping_sub(W::time_in(word)) % modulus;
        let ahead = modulus - age;
        if ahead <= 2 {
            u64::MAX - ahead
        } else {
            age.min(oldest)
        }
    }

    /// The age of a tick in the reference, likewise.
    fn age(&self, tick: u64, oldest: u64) -> u64 {
        match self.now().checked_sub(tick) {
            Some(age) => age.min(oldest),
            None => u64::MAX - (tick - self.now()),
        }
    }

    /// The real word: everything but epoch and time, and the age of the time.
    fn word(&mut self) {
        let mode = &self.seen().mode;
        let bits = self.world.bits.to_u64();
        let below_time = bits & ((1 << W::TIME.0) - 1);
        let has_time = match mode {
            Mode::Closed { failures, .. } => *failures != 0,
            Mode::Held(_) => false,
            _ => true,
        };
        let age = if has_time {
            self.age_in_word(self.world.bits, self.ages.oldest(mode))
        } else {
            0
        };
        self.add([below_time, age]);
    }

    /// The reference, relative to now.
    fn reference(&mut self) {
        let seen = self.seen();
        self.add([
            self.world.rules as u64,
            seen.now % seen.rules.grain.tick,
            self.world.behind,
            u64::from(seen.trips),
        ]);
        let oldest = self.ages.oldest(&seen.mode);
        let mode = match &seen.mode {
            Mode::Closed { failures: 0, .. } => [0; 5],
            Mode::Closed {
                failures,
                window_began,
            } => [
                0,
                u64::from(*failures),
                self.age(*window_began, oldest),
                0,
                0,
            ],
            Mode::Open {
                began,
                lasts,
                demanded,
            } => [1, self.age(*began, oldest), *lasts, u64::from(*demanded), 0],
            Mode::Probing {
                out,
                successes,
                last,
                lost_rounds,
            } => [
                2,
                self.lost(out),
                u64::from(*successes),
                self.age(*last, oldest),
                u64::from(*lost_rounds),
            ],
            Mode::Returning { failures, began } => {
                [3, u64::from(*failures), self.age(*began, oldest), 0, 0]
            }
            Mode::Held(holds) => {
                let hold = |number: usize| holds.get(number).map_or(0, |hold| *hold as u64 + 1);
                [4, hold(0), hold(1), 0, 0]
            }
        };
        self.add(mode);
    }

    /// The number of probes in flight that have no holder any more.
    fn lost(&self, out: &[u64]) -> u64 {
        let is_held = |number: &u64| {
            let mut held = self.world.held.iter().flatten();
            held.any(|(_, permit)| permit.number == *number)
        };
        out.iter().filter(|number| !is_held(number)).count() as u64
    }

    /// The permits: kind, distance in transitions, of probes of this epoch when they were admitted,
    /// and how long the call has taken; in any order.
    fn permits(&mut self) {
        let mut permits = [[0; 5]; 3];
        for (permit, held) in permits.iter_mut().zip(&self.world.held) {
            if let Some(held) = held {
                *permit = self.permit(held);
            }
        }
        permits.sort_unstable();
        for permit in permits {
            self.add(permit);
        }
    }

    fn permit(&self, ((granted, _), permit): &Held<W::Bits>) -> [u64; 5] {
        let seen = self.seen();
        let distance = seen.generation - permit.generation;
        let (age, is_last) = if distance == 0 && permit.is_probe {
            let oldest = self.ages.cancel_limit + MORE;
            let is_last = W::time_in(*granted) == W::time_in(self.world.bits);
            (self.age_in_word(*granted, oldest), u64::from(is_last))
        } else {
            (0, 2)
        };
        let took = match (self.ages.slow_ms, permit.started) {
            (Some(slow), Some(started)) => match seen.now.checked_sub(started) {
                Some(took) => took.min(slow + MORE),
                None => u64::MAX,
            },
            _ => u64::MAX - 1,
        };
        // 1 more than the state, so that "no permit" has its own number.
        [(granted.to_u64() & 3) + 1, distance, age, is_last, took]
    }
}
