//! A place for one key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use arc_swap::{ArcSwapOption, Guard};
use atomic_breaker::word::{self, AtomicU64};
use atomic_breaker::{AsRules, Observer, Outcome, Rejected, Rules, Transition};

use super::KeyedObserver;
use super::turn::Turn;
use crate::resource::LastFailureCell;

/// Rules, and what follows from them for a registry.
#[derive(Debug)]
pub(super) struct Ruleset {
    pub(super) rules: Rules<u64>,
    /// Whether each call has to be remembered, so that the first one takes a slot.
    pub(super) is_eager: bool,
}

/// Rules that are held for a moment: those of a key, or those of all.
pub(super) enum Held {
    Own(Guard<Option<Arc<Ruleset>>>),
    Common(Guard<Arc<Ruleset>>),
}

impl AsRules<u64> for Held {
    #[inline]
    fn as_rules(&self) -> &Rules<u64> {
        match self {
            Self::Common(rules) => &rules.rules,
            Self::Own(rules) => match &**rules {
                Some(rules) => &rules.rules,
                None => unreachable!("taken only where there are some"),
            },
        }
    }
}

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
    has_rules: AtomicBool,
    rules: ArcSwapOption<Ruleset>,
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
            has_rules: AtomicBool::new(false),
            rules: ArcSwapOption::const_empty(),
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
    pub(super) fn own_rules(&self) -> Option<Held> {
        if !self.has_rules.load(Ordering::Relaxed) {
            return None;
        }
        let rules = self.rules.load();
        rules.is_some().then_some(Held::Own(rules))
    }

    pub(super) fn has_own_rules(&self) -> bool {
        self.has_rules.load(Ordering::Relaxed)
    }

    /// Under the lock of the registry.
    pub(super) fn set_own_rules(&self, rules: Option<Arc<Ruleset>>) {
        let has_rules = rules.is_some();
        self.rules.store(rules);
        if self.has_rules.swap(has_rules, Ordering::Relaxed) != has_rules {
            if has_rules {
                self.pin();
            } else {
                self.unpin();
            }
        }
    }

    /// Whether an epoch is of the key that has the slot now, modulo 512.
    fn is_since_birth(&self, epoch: u16) -> bool {
        epoch.wrapping_sub(self.born.load(Ordering::Relaxed)) % 512 < 256
    }

    /// Whose slot it is, if it still is in this turn.
    #[inline]
    pub(super) fn owner(&self, turn: u32) -> Whose<'_, K> {
        let key = self.key.load();
        // The key changes after the turn only.
        if self.turn.is_still(turn, &self.word) {
            Whose::Kept(key)
        } else {
            Whose::Nobody
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

/// Whose slot it was when something happened there. It may have changed hands by the time when the observer
/// is notified.
#[derive(Debug)]
pub(super) enum Whose<'a, K> {
    /// Of a caller who looked the key up, and found it in this turn.
    LookedUp(&'a K, u32),
    /// Of a permit that was granted in the present turn.
    Kept(Guard<Option<Arc<K>>>),
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
            Whose::Kept(key) => {
                if let Some(key) = &**key {
                    notify(self.observer, key);
                }
            }
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
