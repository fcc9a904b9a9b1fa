// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of keys that may be shut out at a time, and the choice of those that are.
//!
//! Keys are numbered in the order in which they go down, and keep their numbers until they are up again. As many as may be
//! shut out, those that went down first, are; the calls of the others pass:
//!
//! ```text
//! down:   slot 7   slot 2   slot 9 │ slot 4   slot 1
//! number      1        4        5  │     8        9        at most three: up to number 5
//! ```
//!
//! | word | change | made by |
//! |---|---|---|
//! | `down` of a slot | a number | whoever opens the key, or is rejected by it |
//! | | 0 | whoever closes the key, or takes the slot from it |
//! | | idle, or not | a look at it now and then, or a rejected call |
//! | `changes` | one more | whoever has changed `down`, or the limit, afterwards |
//! | `last_out`, `counted` | the greatest number that is shut out, as of so many changes | a rejected call that finds other changes, while no other thread counts |

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use super::RegistryError;
use super::called::Called;
use super::places::MOST_LOOKS;

/// The limit of the keys that may be shut out, as it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Keys(usize),
    /// A percentage of the keys that are called, rounded down, but at least one.
    Percent(u32),
}

/// The most slots whose numbers one rejected call reads: about a nanosecond each.
const MOST_NUMBERS: usize = 4 * MOST_LOOKS;

#[derive(Debug)]
pub(super) struct Cap {
    limit: Limit,
    /// Each slot: [`UP`], or the number of its key, and whether it is [`IDLE`].
    down: Box<[AtomicU64]>,
    /// The number that was given last.
    newest: AtomicU64,
    /// Above the last slot that ever was down.
    in_use: AtomicUsize,
    changes: AtomicU64,
    counted: AtomicU64,
    last_out: AtomicU64,
    /// The number of keys that count, those beyond the limit included.
    counting: AtomicUsize,
    /// The keys that are called, counted in each block of slots; empty unless the limit is a percentage.
    pub(super) called: Box<[Called]>,
    /// Above the last of these blocks that has had a key.
    called_in_use: AtomicUsize,
    round: Mutex<Round>,
    looks: AtomicUsize,
    /// The clock reading before which no slots are looked at again; 0 if none ever were.
    pub(super) until_ms: AtomicU32,
}

/// A round of counting, which ends after [`MOST_NUMBERS`] slots and then goes on with the next rejected call.
#[derive(Debug, Default)]
struct Round {
    next: usize,
    /// The changes before it began.
    changes: u64,
    numbers: Vec<u64>,
}

/// The key is up, or the slot has none.
const UP: u64 = 0;

/// Its next call would be a probe, or none of its calls are rejected, so that it does not count.
const IDLE: u64 = 1;

/// The numbers differ by two: the lowest bit is [`IDLE`].
const NEXT: u64 = 2;

impl Cap {
    pub(super) fn try_new(limit: Limit, capacity: usize) -> Result<Self, RegistryError> {
        let blocks = match limit {
            Limit::Keys(0) => return Err(RegistryError::NoneShutOut),
            Limit::Keys(_) => 0,
            Limit::Percent(1..=100) => capacity.div_ceil(MOST_LOOKS),
            Limit::Percent(_) => return Err(RegistryError::ShutOutPercent),
        };
        Ok(Self {
            limit,
            down: (0..capacity).map(|_| AtomicU64::new(UP)).collect(),
            newest: AtomicU64::new(UP),
            in_use: AtomicUsize::new(0),
            changes: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            last_out: AtomicU64::new(u64::MAX),
            counting: AtomicUsize::new(0),
            called: (0..blocks).map(|_| Called::default()).collect(),
            called_in_use: AtomicUsize::new(0),
            round: Mutex::default(),
            looks: AtomicUsize::new(0),
            until_ms: AtomicU32::new(0),
        })
    }

    /// Returns whether the limit depends on the number of keys, so that each key that is called must have a slot.
    pub(super) const fn needs_all_keys(&self) -> bool {
        matches!(self.limit, Limit::Percent(_))
    }

    /// Counts one more key that is called, in this block of slots.
    pub(super) fn note_called(&self, block: usize) {
        if let Some(called) = self.called.get(block) {
            self.called_in_use.fetch_max(block + 1, Ordering::Relaxed);
            if called.add() {
                self.note_change();
            }
        }
    }

    /// The next of the blocks in which keys that are called are counted.
    pub(super) fn called_blocks(&self, look: usize) -> impl Iterator<Item = usize> {
        const AT_ONCE: usize = MOST_NUMBERS / MOST_LOOKS;
        let in_use = self.called_in_use.load(Ordering::Relaxed);
        let first = (look % in_use.div_ceil(AT_ONCE).max(1)) * AT_ONCE;
        first..in_use.min(first + AT_ONCE)
    }

    /// The number of keys that may be shut out at a time.
    fn most(&self) -> usize {
        match self.limit {
            Limit::Keys(keys) => keys,
            Limit::Percent(100) => usize::MAX,
            Limit::Percent(percent) => {
                let called = self.called.iter().map(|block| u64::from(block.keys()));
                (called.sum::<u64>() * u64::from(percent) / 100).max(1) as usize
            }
        }
    }

    /// A key is down: it rejects calls, unless it is idle. Returns whether that is new.
    pub(super) fn note_down(&self, slot: usize, is_idle: bool) -> bool {
        let down = &self.down[slot];
        let seen = down.load(Ordering::Relaxed);
        let number = if seen == UP {
            self.newest.fetch_add(NEXT, Ordering::Relaxed) + NEXT
        } else {
            seen & !IDLE
        };
        let next = number | if is_idle { IDLE } else { 0 };
        // If the exchange fails, another thread has noted something later.
        let is_new = seen != next
            && down
                .compare_exchange(seen, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if is_new {
            self.in_use.fetch_max(slot + 1, Ordering::Relaxed);
            self.note_change();
        }
        is_new
    }

    /// A key is up, or has lost its slot.
    pub(super) fn note_up(&self, slot: usize) {
        let down = &self.down[slot];
        if down.load(Ordering::Relaxed) != UP && down.swap(UP, Ordering::Relaxed) != UP {
            self.note_change();
        }
    }

    /// Returns whether the key of a slot is down, as far as it is noted.
    pub(super) fn is_down(&self, slot: usize) -> bool {
        self.down[slot].load(Ordering::Relaxed) != UP
    }

    /// Counts the looks at a block of slots.
    pub(super) fn next_look(&self) -> usize {
        self.looks.fetch_add(1, Ordering::Relaxed)
    }

    /// The slots that are down, of one of the blocks.
    pub(super) fn block(&self, look: usize) -> impl Iterator<Item = usize> {
        let in_use = self.in_use.load(Ordering::Relaxed);
        let blocks = in_use.div_ceil(MOST_LOOKS).max(1);
        let first = look % blocks * MOST_LOOKS;
        (first..in_use.min(first + MOST_LOOKS)).filter(|&slot| self.is_down(slot))
    }

    /// Something has changed: a thread that sees this number sees the change.
    pub(super) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns whether a rejection by the key of a slot that is noted as down is enforced.
    pub(super) fn shuts_out(&self, slot: usize) -> bool {
        let down = &self.down[slot];
        let mut number = down.load(Ordering::Relaxed);
        if number & IDLE != 0 {
            let next = number & !IDLE;
            // If it fails, another thread has just done it, or the key has come up.
            let woken = down.compare_exchange(number, next, Ordering::Relaxed, Ordering::Relaxed);
            if woken.is_ok() {
                self.note_change();
            }
            number = next;
        }
        self.count();
        number <= self.last_out.load(Ordering::Relaxed)
    }

    /// Returns whether a rejection of a key that has no slot is enforced: such a key would be the last one.
    pub(super) fn has_room(&self) -> bool {
        self.count();
        let most = self.most();
        most >= self.down.len() || self.counting.load(Ordering::Relaxed) < most
    }

    /// Counts again after changes, or a part of it if there are many slots. If another thread is at it, the last count is
    /// good for a moment.
    fn count(&self) {
        if self.changes.load(Ordering::Acquire) != self.counted.load(Ordering::Relaxed) {
            let round = match self.round.try_lock() {
                Ok(round) => round,
                // Nothing that it holds is half done.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            self.go_round(round);
        }
    }

    #[cold]
    fn go_round(&self, mut round: MutexGuard<'_, Round>) {
        let Round {
            next,
            changes,
            numbers,
        } = &mut *round;
        if *next == 0 {
            *changes = self.changes.load(Ordering::Acquire);
            numbers.clear();
        }
        let in_use = self.in_use.load(Ordering::Relaxed);
        let end = (*next + MOST_NUMBERS).min(in_use);
        let down = self.down.get(*next..end).unwrap_or_default();
        let down = down.iter().map(|down| down.load(Ordering::Relaxed));
        numbers.extend(down.filter(|&number| number != UP && number & IDLE == 0));
        if end < in_use {
            *next = end;
            return;
        }
        *next = 0;
        let most = self.most();
        let last_out = if numbers.len() <= most {
            u64::MAX
        } else {
            *numbers.select_nth_unstable(most - 1).1
        };
        self.last_out.store(last_out, Ordering::Relaxed);
        self.counting.store(numbers.len(), Ordering::Relaxed);
        self.counted.store(*changes, Ordering::Relaxed);
    }
}
