//! What a report of a key changes.

use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::{Clock, Outcome, State, Tally, Token, Transition};

use super::explained::{Explained, Words};
use super::granted::{Granted, Kind, as_token};
use super::slot::Slot;
use super::{KeyedObserver, Place, Registry, WhenFull};
use crate::resource::{Begun, too_slow};

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    pub(super) fn report(
        &self,
        key: &K,
        granted: Granted,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        // What a response says says nothing about how long it took.
        let why = why.filter(|_| outcome != Outcome::Success);
        match granted.kind {
            Kind::Admitted | Kind::Probe => {
                let place = granted.place;
                let slot = &self.slots[place.slot()];
                if !self.is_still(place, slot) {
                    self.tell_outcome(key, outcome);
                    return None;
                }
                // A call that was not measured, granted when no probes were out, makes no transition by a success.
                let is_plain = granted.kind == Kind::Admitted
                    && granted.started_ms.is_none()
                    && outcome == Outcome::Success;
                if self.observer.is_listening() && !is_plain {
                    return self.report_observed(key, place, granted.token(), outcome, why);
                }
                let made = self
                    .breaker(slot, ())
                    .resume(granted.token())
                    .report(outcome);
                if !is_plain {
                    self.note(slot, granted.token(), outcome);
                }
                self.tell_outcome(key, outcome);
                let made = made?;
                // Not by reference: what was granted would have to be in memory, on the way of all others.
                let started_ms = granted.started_ms;
                let took = move || self.too_slow(slot, started_ms);
                let words = Words::new(why, slow_if_success(outcome, &took));
                self.explain(place, slot, &made, &words);
                Some(made)
            }
            Kind::Absent => self.report_absent(key, granted, outcome, why),
            Kind::Unguarded | Kind::Ended => None,
        }
    }

    /// Of an admitted call or a probe. What was granted comes in registers: behind a pointer it would have to be
    /// written first, on the way of all others.
    #[inline(never)]
    fn report_observed(
        &self,
        key: &K,
        place: Place,
        token: Token<u64>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let slot = &self.slots[place.slot()];
        let (granted, started_ms) = token.into_raw();
        let took = || self.too_slow(slot, NonZeroU32::new(started_ms));
        let words = Words::new(why, slow_if_success(outcome, &took));
        let breaker = self.breaker(slot, self.observer_of(key, place, &words));
        let made = breaker
            .resume(Token::from_raw(granted, started_ms))
            .report(outcome);
        self.note(slot, Token::from_raw(granted, started_ms), outcome);
        let made = made?;
        self.explain(place, slot, &made, &words);
        Some(made)
    }

    /// Notes that a key has failed, if it has.
    #[inline]
    fn note(&self, slot: &Slot<K, T>, token: Token<u64>, outcome: Outcome) {
        let (granted, started_ms) = token.into_raw();
        // A success that was measured may have been too slow, which shows in the word.
        let has_failed = match outcome {
            Outcome::Failure(_) => true,
            Outcome::Success => started_ms != 0 && slot.word.load(Ordering::Relaxed) != granted,
            Outcome::Ignored => false,
        };
        if has_failed {
            slot.note_failure(self.newest());
        }
    }

    #[inline]
    fn report_absent(
        &self,
        key: &K,
        granted: Granted,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let started_ms = granted.started_ms;
        match outcome {
            // A key that has no slot now has nothing to clear.
            Outcome::Success if !self.was_slow(key, started_ms) => {
                // A counter: nobody got a slot since.
                if self.newest() != granted.inserted() {
                    if let Some((place, _)) = self.find(key) {
                        self.report_as_born(key, place, started_ms, outcome, why);
                        return None;
                    }
                }
                self.tell_outcome(key, outcome);
                None
            }
            Outcome::Failure(failure) if failure.weight() == 0 && !failure.is_tripping() => {
                self.tell_outcome(key, outcome);
                None
            }
            Outcome::Ignored => {
                self.tell_outcome(key, outcome);
                None
            }
            Outcome::Success | Outcome::Failure(_) => {
                self.report_first(key, started_ms, outcome, why)
            }
        }
    }

    /// Of a call that concerns no breaker.
    #[inline]
    fn tell_outcome(&self, key: &K, outcome: Outcome) {
        if self.observer.is_listening() {
            self.observer.outcome(key, outcome);
        }
    }

    #[inline]
    fn tell_cancelled(&self, key: &K) {
        if self.observer.is_listening() {
            self.observer.cancelled(key);
        }
    }

    #[inline]
    pub(super) fn cancel(&self, key: &K, granted: Granted) {
        match granted.kind {
            Kind::Admitted | Kind::Probe => {
                let place = granted.place;
                let slot = &self.slots[place.slot()];
                if !self.is_still(place, slot) {
                    self.tell_cancelled(key);
                    return;
                }
                let words = Words::new(Some(hung), None);
                let breaker = self.breaker(slot, self.observer_of(key, place, &words));
                if let Some(made) = breaker.resume(granted.token()).cancel() {
                    slot.note_failure(self.newest());
                    self.explain(place, slot, &made, &words);
                }
            }
            Kind::Absent => {
                if self.was_slow(key, granted.started_ms) {
                    self.report_first(key, granted.started_ms, Outcome::Success, Some(hung));
                } else {
                    self.tell_cancelled(key);
                }
            }
            Kind::Unguarded | Kind::Ended => {}
        }
    }

    #[cold]
    fn too_slow(&self, slot: &Slot<K, T>, started_ms: Option<NonZeroU32>) -> String {
        let limit_ms = self.rules_of(slot).slow_call_ms;
        let limit = limit_ms.map(|ms| Duration::from_millis(ms.into()));
        too_slow(
            started_ms.map_or(0, NonZeroU32::get),
            self.clock.now_ms(),
            limit,
        )
    }

    /// Of those who share a slot only outcomes are told: its transitions are nobody's.
    #[inline]
    fn observer_of<'a, F: FnOnce() -> String>(
        &'a self,
        key: &'a K,
        place: Place,
        words: &'a Words<'a, F>,
    ) -> Explained<'a, K, O, F> {
        Explained {
            key,
            observer: &self.observer,
            words,
            is_shared: place.slot() == self.capacity(),
        }
    }

    /// Keeps the words of a failure that opened a breaker, or forgets older ones.
    fn explain(
        &self,
        place: Place,
        slot: &Slot<K, T>,
        made: &Transition,
        words: &Words<'_, impl FnOnce() -> String>,
    ) {
        if made.to != State::Open {
            return;
        }
        let breaker = self.breaker(slot, ());
        slot.last_failure
            .set_for(made, breaker.present(), words.take());
        // The slot may have changed hands meanwhile, and words of one key must not show at another.
        if !self.is_still(place, slot) {
            slot.last_failure.clear();
        }
    }

    /// Whether a failure that other calls share counts, for a call of the key that began then. A key without a slot gets
    /// one, as by any failure; where there is none to be had, it counts nowhere anyhow.
    #[cold]
    pub(super) fn counts_shared(&self, key: &K, begun: Begun) -> bool {
        match self.insert(key) {
            // A slot that changes hands meanwhile: one failure less, of a key that has none.
            Some((_, slot)) => slot.shared_failure.is_first(begun),
            None => true,
        }
    }

    /// The first failure of a key, or one that began before another first one.
    #[cold]
    fn report_first(
        &self,
        key: &K,
        started_ms: Option<NonZeroU32>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        match self.insert(key) {
            Some((place, _)) => self.report_as_born(key, place, started_ms, outcome, why),
            None if self.when_full == WhenFull::Share => {
                self.report_as_born(key, self.shared(), started_ms, outcome, why)
            }
            None => {
                self.tell_outcome(key, outcome);
                None
            }
        }
    }

    /// Reports a call that began before its key had a slot, as if it had been admitted when the key got it.
    #[cold]
    fn report_as_born(
        &self,
        key: &K,
        place: Place,
        started_ms: Option<NonZeroU32>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let slot = &self.slots[place.slot()];
        let is_shared = place.slot() == self.capacity();
        // The shared breaker is nobody's from the start: it is asked as it stands.
        let granted = if is_shared {
            self.breaker(slot, ()).to_bits()
        } else {
            slot.born.load(Ordering::Relaxed)
        };
        if !self.is_still(place, slot) {
            self.tell_outcome(key, outcome);
            return None;
        }
        let breaker = self.breaker(slot, ());
        let permit = breaker.resume(as_token(granted, started_ms));
        let (is_probe, token) = (permit.is_probe(), permit.into_token());
        if is_probe {
            // Nobody granted it a slot, so it has none to give back.
            self.tell_outcome(key, outcome);
            return None;
        }
        self.report_observed(key, place, token, outcome, why)
    }
}

#[inline]
fn slow_if_success(outcome: Outcome, slow: &dyn Fn() -> String) -> Option<&dyn Fn() -> String> {
    (outcome == Outcome::Success).then_some(slow)
}

fn hung() -> String {
    "hung until it was cancelled".to_owned()
}
