//! A place for one key.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use arc_swap::ArcSwapOption;
use atomic_breaker::word::{self, AtomicU64};
use atomic_breaker::{Observer, Outcome, Rejected, Transition};

use super::KeyedObserver;
use super::rules::RuleId;
use super::turn::Turn;
use crate::resource::LastFailureCell;

/// A place for one key. On a cache line of its own, so that a key that fails does not slow down its neighbours.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slot<K, T> {
    pub(super) word: AtomicU64,
    pub(super) turn: Turn<word::AtomicU32>,
    /// Who must not be evicted now: an operator is at work, or the key has rules of its own.
    pub(super) pins: AtomicU32,
    /// The word with which this key got the slot.
    pub(super) born: AtomicU64,
    /// Whether somebody came since the last search for a victim.
    pub(super) is_used: AtomicBool,
    /// One more than the index of its own rules; 0 if it has none.
    own_rules: AtomicU32,
    pub(super) key: ArcSwapOption<K>,
    pub(super) last_failure: LastFailureCell,
    pub(super) tally: T,
}

impl<K, T> Slot<K, T> {
    pub(super) fn new(tally: T) -> Self {
        Self {
            word: AtomicU64::new(0),
            turn: Turn::default(),
            pins: AtomicU32::new(0),
            born: AtomicU64::new(0),
            is_used: AtomicBool::new(false),
            own_rules: AtomicU32::new(0),
            key: ArcSwapOption::const_empty(),
            last_failure: LastFailureCell::new(),
            tally,
        }
    }

    /// Marks it as used. Written once between two searches, so that the callers of one key share it by
    /// reading.
    #[inline]
    pub(super) fn touch(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Rules of its own, if it has some.
    #[inline]
    pub(super) fn own_rules(&self) -> Option<RuleId> {
        // The rules themselves are published by the table.
        let next = self.own_rules.load(Ordering::Relaxed);
        next.checked_sub(1).map(|id| id as RuleId)
    }

    /// Under the lock of the registry. A key with rules of its own keeps its slot.
    pub(super) fn set_own_rules(&self, rules: Option<RuleId>) {
        let next = rules.map_or(0, |id| u32::from(id) + 1);
        let before = self.own_rules.swap(next, Ordering::Relaxed);
        match (before != 0, next != 0) {
            (false, true) => self.pin(),
            (true, false) => self.unpin(),
            _ => {}
        }
    }

    /// Under the lock of the registry.
    pub(super) fn pin(&self) {
        self.pins.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unpin(&self) {
        // What was done meanwhile comes before an eviction that finds it unpinned.
        self.pins.fetch_sub(1, Ordering::Release);
    }

    /// Under the lock of the registry, so that no new pin comes in between.
    pub(super) fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::Acquire) != 0
    }
}

/// Notifies the observer of the registry of what the permit of a key does.
#[derive(Debug)]
pub(crate) struct Keyed<'a, K, O> {
    pub(super) key: &'a K,
    pub(super) observer: &'a O,
}

impl<K, O: KeyedObserver<K>> Observer for Keyed<'_, K, O> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn transition(&self, transition: &Transition) {
        self.observer.transition(self.key, transition);
    }

    fn rejected(&self, rejected: Rejected) {
        self.observer.rejected(self.key, rejected);
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        if self.observer.is_listening() {
            self.observer.outcome(self.key, outcome);
        }
    }

    #[inline]
    fn cancelled(&self) {
        if self.observer.is_listening() {
            self.observer.cancelled(self.key);
        }
    }
}

/// Keeps the transition that is made when a call is admitted, until it is known whose slot it was.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) transition: Cell<Option<Transition>>,
}

impl Kept {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.transition.get().is_none()
    }
}

impl Observer for &Kept {
    fn transition(&self, transition: &Transition) {
        self.transition.set(Some(*transition));
    }
}
