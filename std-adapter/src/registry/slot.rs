//! A place for one key.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

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
    /// The epoch in which this key got the slot.
    pub(super) born: AtomicU16,
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
            born: AtomicU16::new(0),
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

    /// Whether an epoch is of the key that has the slot now, modulo 512.
    fn is_since_birth(&self, epoch: u16) -> bool {
        epoch.wrapping_sub(self.born.load(Ordering::Relaxed)) % 512 < 256
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

/// Whose slot it was when something happened there. It may have changed hands by the time when the observer
/// is notified.
#[derive(Debug)]
pub(super) enum Whose<'a, K> {
    /// Of a caller who looked the key up, and found it in this turn.
    LookedUp(&'a K, u32),
    /// Of a permit, which acts in its own turn only.
    Permit(&'a K),
    /// Of whoever has it, as it is pinned.
    Present,
    /// Nobody is to be notified.
    Nobody,
}

/// Notifies the observer of the registry of what happens in a slot.
#[derive(Debug)]
pub(super) struct Keyed<'a, K, T, O> {
    pub(super) slot: &'a Slot<K, T>,
    pub(super) whose: Whose<'a, K>,
    pub(super) observer: &'a O,
}

impl<K, T, O: KeyedObserver<K>> Keyed<'_, K, T, O> {
    /// `epoch` is the one that began, where one did.
    fn with_key(&self, epoch: Option<u16>, notify: impl FnOnce(&O, &K)) {
        if !self.observer.is_listening() {
            return;
        }
        let slot = self.slot;
        match &self.whose {
            Whose::Permit(key) => notify(self.observer, key),
            Whose::LookedUp(key, turn) => {
                let is_theirs = slot.turn.is_still(*turn, &slot.word)
                    || epoch.is_some_and(|epoch| !slot.is_since_birth(epoch));
                if is_theirs {
                    notify(self.observer, key);
                } else if epoch.is_some() {
                    self.with_present_key(notify);
                }
            }
            Whose::Present => self.with_present_key(notify),
            Whose::Nobody => {}
        }
    }

    fn with_present_key(&self, notify: impl FnOnce(&O, &K)) {
        if let Some(key) = &*self.slot.key.load() {
            notify(self.observer, key);
        }
    }
}

impl<K, T, O: KeyedObserver<K>> Observer for Keyed<'_, K, T, O> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn transition(&self, transition: &Transition) {
        self.with_key(Some(transition.epoch), |observer, key| {
            observer.transition(key, transition);
        });
    }

    fn rejected(&self, rejected: Rejected) {
        self.with_key(None, |observer, key| observer.rejected(key, rejected));
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        self.with_key(None, |observer, key| observer.outcome(key, outcome));
    }

    #[inline]
    fn cancelled(&self) {
        self.with_key(None, O::cancelled);
    }
}
