// SPDX-License-Identifier: MIT OR Apache-2.0
//! A place for one key.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use arc_swap::ArcSwapOption;
use atomic_breaker::word::{self, AtomicU64};

use super::classes::Class;
use super::ruleset::RuleId;
use super::turn::Turn;
use crate::last_failure::LastFailureCell;
use crate::loss::Losses;

/// A place for one key. It has cache lines of its own, so that a failing key does not slow down its neighbours; a call
/// that succeeds reads the first one only.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Slot<K, T> {
    pub(super) word: AtomicU64,
    pub(super) turn: Turn<word::AtomicU32>,
    /// The id of the key's own rules plus one, or 0 if it has none.
    own_rules: AtomicU32,
    /// The rules that apply to the key if it has none of its own.
    class: AtomicU8,
    /// The number of reasons not to evict it now: an operator is at work, or the key has rules of its own.
    pins: AtomicU32,
    pub(super) losses: Losses,
    /// The word with which this key got the slot.
    pub(super) word_at_insert: AtomicU64,
    pub(super) key: ArcSwapOption<K>,
    /// The number of keys that had got a slot when this one got its own.
    pub(super) inserted_as: AtomicU64,
    /// The number of keys that had got a slot when this one failed last, or was commanded; 0 if it never was.
    pub(super) failed_after: AtomicU64,
    pub(super) last_failure: LastFailureCell,
    pub(super) tally: T,
}

impl<K, T> Slot<K, T> {
    pub(super) fn new(tally: T) -> Self {
        Self {
            word: AtomicU64::new(0),
            turn: Turn::default(),
            own_rules: AtomicU32::new(0),
            class: AtomicU8::new(0),
            pins: AtomicU32::new(0),
            losses: Losses::new(),
            word_at_insert: AtomicU64::new(0),
            inserted_as: AtomicU64::new(0),
            failed_after: AtomicU64::new(0),
            key: ArcSwapOption::const_empty(),
            last_failure: LastFailureCell::new(),
            tally,
        }
    }

    /// Notes that the key failed when that many keys had got a slot. Written at most once until the next key gets one.
    #[inline]
    pub(super) fn note_failure(&self, inserted: u64) {
        if self.failed_after.load(Ordering::Relaxed) != inserted {
            self.failed_after.store(inserted, Ordering::Relaxed);
        }
    }

    /// Returns whether it has failed, or was commanded, since it got the slot.
    pub(super) fn has_failed(&self) -> bool {
        self.failed_after.load(Ordering::Relaxed) != 0
    }

    /// The number of the key among those that got a slot.
    pub(super) fn inserted_as(&self) -> u64 {
        self.inserted_as.load(Ordering::Relaxed)
    }

    /// The number of keys that had got a slot when this one failed last, or got its own.
    pub(super) fn last_needed(&self) -> u64 {
        self.failed_after
            .load(Ordering::Relaxed)
            .max(self.inserted_as())
    }

    /// The key's own rules, if it has any.
    #[inline]
    pub(super) fn own_rules(&self) -> Option<RuleId> {
        let own = self.own_rules.load(Ordering::Relaxed);
        own.checked_sub(1).map(|id| id as RuleId)
    }

    #[inline]
    pub(super) fn class(&self) -> Class {
        Class(self.class.load(Ordering::Relaxed))
    }

    /// Called under the lock of the registry, before the key that gets the slot can be found.
    pub(super) fn set_class(&self, class: Class) {
        self.class.store(class.0, Ordering::Relaxed);
        self.own_rules.store(0, Ordering::Relaxed);
    }

    /// Called under the lock of the registry. A key with rules of its own keeps its slot. Returns whether it had some.
    pub(super) fn set_own_rules(&self, rules: Option<RuleId>) -> bool {
        let next = rules.map_or(0, |id| u32::from(id) + 1);
        let before = self.own_rules.swap(next, Ordering::Relaxed);
        match (before, next) {
            (0, 1..) => self.pin(),
            (1.., 0) => self.unpin(),
            _ => {}
        }
        before != 0
    }

    /// Called under the lock of the registry.
    pub(super) fn pin(&self) {
        self.pins.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unpin(&self) {
        // The work done while it was pinned happens before an eviction that finds it unpinned.
        self.pins.fetch_sub(1, Ordering::Release);
    }

    /// Called under the lock of the registry, so that no new pin comes in between.
    pub(super) fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::Acquire) != 0
    }
}
