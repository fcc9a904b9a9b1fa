// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which slots are looked at, and which keys stay longer.

use std::hash::{BuildHasher, RandomState};

/// Goes round all slots, each once per round, in an order in which each slot of a round is a random one of those that are
/// left: so those that are compared with each other have nothing in common, such as that they were given away in turn,
/// and an attacker who can choose keys cannot predict them.
#[derive(Debug)]
pub(super) struct Walk {
    /// All slots: first those that are left in this round.
    slots: Vec<u32>,
    /// The number of slots that are left in this round.
    left: usize,
    random: u64,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            left: 0,
            // Not 0, which xorshift never leaves.
            random: RandomState::new().hash_one(0) | 1,
        }
    }
}

impl Walk {
    /// The next of that many slots, always as many as at first.
    pub(super) fn step(&mut self, slots: usize) -> usize {
        if self.left == 0 {
            self.begin_round(slots);
        }
        // Fisher and Yates, one step at a time; Durstenfeld, Algorithm 235: Random permutation, 1964.
        let drawn = self.below(self.left);
        self.left -= 1;
        self.slots.swap(drawn, self.left);
        self.slots[self.left] as usize
    }

    #[cold]
    fn begin_round(&mut self, slots: usize) {
        if self.slots.is_empty() {
            // Memory for a registry that is full only.
            self.slots = (0..slots as u32).collect();
        }
        self.left = slots;
    }

    /// Xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016).
    fn below(&mut self, end: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let high = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * end as u64) >> 32) as usize
    }
}

/// Lets one key in 16 stay longer than its last failure says: for as many further insertions as there are slots, half
/// of these for twice as many, and so on. So a rarely called key, among any number of other failing keys, still has its
/// failures counted at its next call, after some tries. An attacker who can choose keys cannot predict it.
#[derive(Debug, Default)]
pub(super) struct Stays(RandomState);

impl Stays {
    /// The most doublings of the capacity in the length of a stay.
    const MOST_DOUBLINGS: u32 = 10;

    /// The number of insertions by which the last failure of the key with this number is counted as later.
    pub(super) fn of(&self, number: u64, slots: usize) -> u64 {
        let chance = self.0.hash_one(number).leading_zeros();
        chance.checked_sub(4).map_or(0, |doublings| {
            (slots as u64) << doublings.min(Self::MOST_DOUBLINGS)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_round_begins_elsewhere_and_goes_another_way() {
        const SLOTS: usize = 1_009;
        let rounds = (0..10).flat_map(|_| {
            let mut walk = Walk::default();
            (0..100).map(move |_| {
                let first = walk.step(SLOTS);
                let second = walk.step(SLOTS);
                for _ in 2..SLOTS {
                    walk.step(SLOTS);
                }
                (first, second)
            })
        });
        let rounds: Vec<_> = rounds.collect();
        // Of a million ways; two in a thousand are the same once in two runs.
        assert!(rounds.iter().collect::<HashSet<_>>().len() > 990);
        for tenth in 0..10 {
            let here = rounds
                .iter()
                .filter(|(first, _)| first * 10 / SLOTS == tenth);
            let here = here.count();
            assert!((40..=160).contains(&here), "{here} of 1,000 in {tenth}");
        }
    }

    /// Others may come round after some ten thousand numbers. These are the upper bits of its first ones from 1.
    #[test]
    fn its_random_numbers_are_those_of_xorshift64_star() {
        let first = [
            603_088_677,
            1_441_256_276,
            1_558_742_727,
            651_824_208,
            120_638_680,
        ];
        let mut walk = Walk {
            random: 1,
            ..Walk::default()
        };
        assert_eq!([(); 5].map(|()| walk.below(1 << 31)), first);
    }

    /// In each round, wherever in it: neighbours follow each other as often as any two slots do.
    #[test]
    fn what_comes_together_has_nothing_in_common() {
        const SLOTS: usize = 64;
        let mut distances = [0_u32; SLOTS];
        let mut walk = Walk::default();
        for _ in 0..1_000 {
            let round: Vec<_> = (0..SLOTS).map(|_| walk.step(SLOTS)).collect();
            // Of 16 that are compared: a walk with one stride has one distance in all of them.
            let first = (SLOTS + round[1] - round[0]) % SLOTS;
            for pair in round[1..16].windows(2) {
                let distance = (SLOTS + pair[1] - pair[0]) % SLOTS;
                distances[(SLOTS + distance - first) % SLOTS] += 1;
            }
        }
        let most = distances.iter().max();
        // 14,000 in 64 places: 222 each on average.
        assert!(most < Some(&350), "{distances:?}");
    }

    #[test]
    fn each_slot_comes_once_in_a_round() {
        for slots in (1..70).chain([1_000, 1_024, 4_096]) {
            let mut walk = Walk::default();
            for _ in 0..3 {
                let mut seen = vec![false; slots];
                for _ in 0..slots {
                    let here = walk.step(slots);
                    assert!(!seen[here], "{here} of {slots} twice");
                    seen[here] = true;
                }
            }
        }
    }
}
