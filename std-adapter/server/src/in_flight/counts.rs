// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of calls in flight, by key.

use std::hash::{BuildHasher, Hash, RandomState};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of calls in flight, by key: a key has a count only while it has calls, in a table of fixed size.
///
/// ```text
/// 63                32 31                 0
/// ┌───────────────────┬───────────────────┐
/// │ half of a hash 32 │ calls in flight 32│   free while there are none
/// └───────────────────┴───────────────────┘
/// ```
///
/// The other half of the hash chooses a row of eight words. A key that comes to a full row is not counted. Two keys
/// count as one if their hashes are the same. The hasher is randomly seeded for each table, because that of the
/// registry may be one that callers can guess.
#[derive(Debug)]
pub struct CallCounts {
    rows: Rows,
    pub(super) most: u32,
}

#[derive(Debug)]
enum Rows {
    /// Counts one key, whose hash is 0.
    One(Row),
    Many(Box<[Row]>, RandomState),
}

/// Has a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Row([AtomicU64; WORDS]);

const WORDS: usize = 8;
const COUNT: u64 = u32::MAX as u64;

impl Row {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }
}

impl CallCounts {
    pub(super) const fn of_one(most: u32) -> Self {
        let rows = Rows::One(Row::new());
        Self { rows, most }
    }

    /// A table for about that many keys with calls in flight at a time: then half of the words are free, and one key in
    /// a hundred finds none in its row.
    pub(super) fn for_keys(keys: usize, most: u32) -> Self {
        let rows = 0..keys.div_ceil(WORDS / 2).max(1);
        let rows = rows.map(|_| Row::new()).collect();
        let rows = Rows::Many(rows, RandomState::new());
        Self { rows, most }
    }

    fn rows(&self) -> &[Row] {
        match &self.rows {
            Rows::One(row) => slice::from_ref(row),
            Rows::Many(rows, _) => rows,
        }
    }

    /// The row of a key, and its half of the hash.
    fn row_of(&self, key: &impl Hash) -> (usize, u64) {
        match &self.rows {
            Rows::One(_) => (0, 0),
            Rows::Many(rows, hasher) => {
                let hash = hasher.hash_one(key);
                ((hash & COUNT) as usize % rows.len(), hash & !COUNT)
            }
        }
    }

    /// Counts a call of a key. Returns where, if there is room, and whether it is one too many.
    pub(super) fn begin(&self, key: &impl Hash) -> (Option<usize>, bool) {
        let (row, tag) = self.row_of(key);
        let words = &self.rows()[row].0;
        loop {
            let (mut free, mut mine) = (None, None);
            for (index, word) in words.iter().enumerate() {
                let seen = word.load(Ordering::Relaxed);
                if seen & COUNT == 0 {
                    free = free.or(Some((index, seen, tag | 1)));
                } else if seen & !COUNT == tag && seen & COUNT < COUNT {
                    mine = Some((index, seen, seen + 1));
                }
            }
            let Some((index, seen, next)) = mine.or(free) else {
                return (None, false);
            };
            // In a single order with the sum, so two calls that took a word each at the same moment do not miss each
            // other. An exchange fails only because another one succeeds.
            let exchanged =
                words[index].compare_exchange_weak(seen, next, Ordering::SeqCst, Ordering::Relaxed);
            if exchanged.is_ok() {
                let is_too_many = self.sum(row, tag) > u64::from(self.most);
                return (Some(row * WORDS + index), is_too_many);
            }
        }
    }

    /// The call that was counted at this place has ended.
    pub(super) fn end(&self, place: usize) {
        self.rows()[place / WORDS].0[place % WORDS].fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of calls of a key that are in flight.
    pub(super) fn of(&self, key: &impl Hash) -> u64 {
        let (row, tag) = self.row_of(key);
        self.sum(row, tag)
    }

    /// Adds up all words of a key: two calls that begin at the same moment may have taken one each.
    fn sum(&self, row: usize, tag: u64) -> u64 {
        let words = self.rows()[row].0.iter();
        words
            .map(|word| word.load(Ordering::SeqCst))
            .filter(|word| word & !COUNT == tag)
            .map(|word| word & COUNT)
            .sum()
    }
}
