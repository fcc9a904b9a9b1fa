// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map without bound: what each key is in it, and how a registry may differ.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use atomic_breaker_server::{
    Breaker, Clock, GuardPermit, ManualClock, Rejected, Rules, Snapshot, State, Token,
    word::AtomicU64,
};

use super::super::panicking::{Key, Where, arm};
use super::super::threads::Random;
use super::{CLASS, CLOCK, Hosts, OBSERVER, is_strict};

pub(super) type Model<'a> = Breaker<&'a ManualClock, &'a AtomicU64, (), (), &'a Rules<u64>>;

/// The state of a snapshot, and the number of transitions since an epoch, modulo 512.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View(State, u16, [u8; 4], Option<Rejected>, u16);

pub(super) fn view(it: Snapshot, since: u16) -> View {
    let counts = [
        it.trips(),
        it.probes_in_flight(),
        it.successes(),
        it.lost_rounds(),
    ];
    let transitions = it.epoch().wrapping_sub(since) % 512;
    View(
        it.state(),
        it.failures(),
        counts,
        it.rejection(),
        transitions,
    )
}

/// A key from when it got a slot until it loses it.
pub(super) struct Life {
    pub(super) number: u64,
    pub(super) word: u64,
    /// The epoch of its slot when that of the model was 0.
    pub(super) since: u16,
}

/// The permit that the model granted.
pub(super) enum Grant {
    /// The key had no slot: it counts as admitted when it got one.
    Absent,
    /// By this life.
    Admitted(u64, Token<u64>),
}

pub(super) struct Held<'a> {
    pub(super) key: u32,
    pub(super) permit: GuardPermit<atomic_breaker_server::KeyGuard<&'a Hosts<'a>>>,
    pub(super) grant: Grant,
}

pub(super) struct World<'a> {
    pub(super) clock: &'a ManualClock,
    pub(super) hosts: &'a Hosts<'a>,
    pub(super) rules: Rules<u64>,
    pub(super) strict: Rules<u64>,
    /// Keys with rules of their own.
    pub(super) own: HashSet<u32>,
    pub(super) lives: HashMap<u32, Life>,
    pub(super) held: Vec<Held<'a>>,
    pub(super) born: u64,
    pub(super) evicted: u64,
    pub(super) random: Random,
    pub(super) panics: u32,
}

impl World<'_> {
    pub(super) fn rules_of(&self, key: u32) -> &Rules<u64> {
        if is_strict(key) && !self.own.contains(&key) {
            &self.strict
        } else {
            &self.rules
        }
    }

    /// Does something to the breaker of a key in the model.
    pub(super) fn on<R>(&self, key: u32, word: u64, act: impl FnOnce(&Model<'_>) -> R) -> (u64, R) {
        let word = AtomicU64::new(word);
        let breaker = Breaker::from_parts(&word, self.rules_of(key), self.clock, (), ());
        let answer = act(&breaker);
        (breaker.to_bits(), answer)
    }

    pub(super) fn view(&self, key: u32, word: u64) -> View {
        self.on(key, word, |breaker| view(breaker.snapshot(), 0)).1
    }

    /// The view of a key: with the epoch since it got its slot if the model knows it, otherwise since 0.
    pub(super) fn found(&self, key: u32) -> Option<View> {
        let since = self.lives.get(&key).map_or(0, |life| life.since);
        let entry = self.hosts.entry(&Key(key))?;
        Some(view(entry.snapshot, since))
    }

    /// Returns whether a key may lose its slot now.
    pub(super) fn may_go(&self, key: u32, life: &Life) -> bool {
        let retires = self.on(key, life.word, |breaker| {
            let it = breaker.snapshot();
            let is_long_over = it.opened_at_ms().is_none_or(|at| {
                let open_ms = it.open_for().unwrap().as_millis();
                u128::from(self.clock.now_ms().wrapping_sub(at)) >= 2 * open_ms
            });
            is_long_over && breaker.retire()
        });
        retires.1 && !self.own.contains(&key)
    }

    /// Forgets keys that have lost their slots.
    pub(super) fn forget(&mut self) {
        let evicted = self.hosts.stats().evicted;
        if evicted == self.evicted {
            return;
        }
        self.evicted = evicted;
        let keys = self.lives.keys().copied();
        let gone: Vec<_> = keys.filter(|&key| self.found(key).is_none()).collect();
        for key in gone {
            let life = self.lives.remove(&key).unwrap();
            let was = self.view(key, life.word);
            assert!(self.may_go(key, &life), "{key} was {was:?}");
        }
    }

    /// After a step for a key that has become one of these words, if it has a slot.
    pub(super) fn settle(&mut self, key: u32, words: &[u64], has_panicked: bool) {
        self.forget();
        if has_panicked {
            self.settle_others(key);
        }
        let Some(found) = self.found(key) else {
            assert!(!self.lives.contains_key(&key), "{key} was lost");
            return;
        };
        let is_new = !self.lives.contains_key(&key);
        let fits = |&word: &u64| {
            let mut expected = self.view(key, word);
            if is_new {
                // The slot may begin with any.
                expected.4 = found.4;
            }
            expected == found
        };
        let Some(word) = words.iter().copied().find(fits) else {
            let expected: Vec<_> = words.iter().map(|&word| self.view(key, word)).collect();
            panic!("{key} is {found:?}, not of {expected:?}");
        };
        let life = Life {
            number: self.born + 1,
            word,
            since: found.4.wrapping_sub(self.view(key, word).4) % 512,
        };
        self.born += u64::from(is_new);
        self.lives.entry(key).or_insert(life).word = word;
    }

    /// A key whose eviction panicked keeps its slot, and may be fresh: calls under way do not count then.
    pub(super) fn settle_others(&mut self, but: u32) {
        let keys = self.lives.keys().copied();
        let keys: Vec<_> = keys.filter(|&key| key != but).collect();
        for key in keys {
            let life = &self.lives[&key];
            let found = self.found(key).unwrap();
            if found != self.view(key, life.word) {
                let (retired, ()) = self.on(key, life.word, |breaker| assert!(breaker.retire()));
                assert!(
                    self.may_go(key, life) && found == self.view(key, retired),
                    "{key}: {found:?}"
                );
                self.lives.get_mut(&key).unwrap().word = retired;
            }
        }
    }

    /// The word of a key in the model.
    pub(super) fn word(&self, key: u32) -> u64 {
        self.lives.get(&key).map_or(0, |life| life.word)
    }

    /// Runs a step, which may panic; `None` if it did.
    pub(super) fn run<R>(&mut self, step: impl FnOnce() -> R) -> Option<R> {
        if self.random.below(50) == 0 {
            let count = self.random.below(5) as u32;
            match self.random.below(7) {
                0 => arm(Some((Where::Hash, count))),
                1 => arm(Some((Where::Eq, count))),
                2 => arm(Some((Where::Clone, count))),
                3 => arm(Some((Where::Drop, count))),
                4 => CLOCK.set(Some(count)),
                5 => CLASS.set(Some(count)),
                _ => OBSERVER.set(Some(count)),
            }
        }
        let answer = catch_unwind(AssertUnwindSafe(step));
        arm(None);
        CLOCK.set(None);
        OBSERVER.set(None);
        CLASS.set(None);
        self.panics += u32::from(answer.is_err());
        answer.ok()
    }
}
