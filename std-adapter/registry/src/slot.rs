//! A place for one key.

use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::ArcSwapOption;
use atomic_breaker::word::{self, AtomicU64};

use super::classes::Class;
use super::rules::RuleId;
use super::turn::Turn;
use atomic_breaker_resource::{LastFailureCell, parts::SharedFailure};

/// A place for one key. It has a cache line of its own, so that a failing key does not slow down its neighbours.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slot<K, T> {
    pub(super) word: AtomicU64,
    pub(super) turn: Turn<word::AtomicU32>,
    /// How many reasons there are not to evict it now: an operator is at work, or the key has rules of its own.
    pub(super) pins: AtomicU32,
    /// The word with which this key got the slot.
    pub(super) born: AtomicU64,
    /// How many keys had got a slot when this one did.
    pub(super) since: AtomicU64,
    /// How many keys had got a slot when this one failed last, or was commanded; 0 if it never was.
    pub(super) failed_at: AtomicU64,
    /// Which rules apply: a [`Choice`].
    choice: AtomicU32,
    pub(super) key: ArcSwapOption<K>,
    pub(super) last_failure: LastFailureCell,
    pub(super) shared_failure: SharedFailure,
    pub(super) tally: T,
}

impl<K, T> Slot<K, T> {
    pub(super) fn new(tally: T) -> Self {
        Self {
            word: AtomicU64::new(0),
            turn: Turn::default(),
            pins: AtomicU32::new(0),
            born: AtomicU64::new(0),
            since: AtomicU64::new(0),
            failed_at: AtomicU64::new(0),
            choice: AtomicU32::new(0),
            key: ArcSwapOption::const_empty(),
            last_failure: LastFailureCell::new(),
            shared_failure: SharedFailure::new(),
            tally,
        }
    }

    /// Notes that the key failed when that many keys had got a slot. Written at most once until the next key gets one.
    #[inline]
    pub(super) fn note_failure(&self, inserted: u64) {
        if self.failed_at.load(Ordering::Relaxed) != inserted {
            self.failed_at.store(inserted, Ordering::Relaxed);
        }
    }

    /// Whether it has failed, or was commanded, since it got the slot.
    pub(super) fn has_failed(&self) -> bool {
        self.failed_at.load(Ordering::Relaxed) != 0
    }

    /// The number of the key among those that got a slot.
    pub(super) fn born_as(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// How many keys had got a slot when this one failed last, or got its own.
    pub(super) fn last_needed(&self) -> u64 {
        self.failed_at.load(Ordering::Relaxed).max(self.born_as())
    }

    /// Which rules apply.
    #[inline]
    pub(super) fn choice(&self) -> Choice {
        // The rules themselves are published by the table.
        Choice(self.choice.load(Ordering::Relaxed))
    }

    /// Called under the lock of the registry, before the key that gets the slot can be found.
    pub(super) fn set_class(&self, class: Class) {
        let choice = Choice::new(None, class);
        self.choice.store(choice.0, Ordering::Relaxed);
    }

    /// Called under the lock of the registry. A key with rules of its own keeps its slot.
    pub(super) fn set_own_rules(&self, rules: Option<RuleId>) {
        let before = self.choice();
        let next = Choice::new(rules, before.class());
        self.choice.store(next.0, Ordering::Relaxed);
        match (before.own().is_some(), rules.is_some()) {
            (false, true) => self.pin(),
            (true, false) => self.unpin(),
            _ => {}
        }
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

/// Which rules apply to a slot: the low bits hold one more than the index of its own rules, or 0 if it has none; the
/// high bits hold its class, which it keeps in addition to its own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice(u32);

impl Choice {
    /// Has no rules of its own, and no class.
    pub(super) const COMMON: Self = Self(0);
    const CLASS: u32 = 24;

    fn new(own: Option<RuleId>, class: Class) -> Self {
        let own = own.map_or(0, |id| u32::from(id) + 1);
        Self(u32::from(class.0) << Self::CLASS | own)
    }

    /// The slot's own rules, if it has any.
    #[inline]
    pub(super) fn own(self) -> Option<RuleId> {
        let own = self.0 & ((1 << Self::CLASS) - 1);
        own.checked_sub(1).map(|id| id as RuleId)
    }

    #[inline]
    pub(super) const fn class(self) -> Class {
        Class((self.0 >> Self::CLASS) as u8)
    }
}
