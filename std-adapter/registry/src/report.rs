//! What changes when a call of a key is reported.

use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::{Clock, Failure, Outcome, State, Tally, Token, Transition};

use super::explained::{Explained, Keyed, Words};
use super::granted::{Granted, Kind};
use super::slot::Slot;
use super::{KeyedObserver, Registry};
use crate::registry::Place;
use crate::words::too_slow;

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
        // The words about a response do not say how long it took.
        let why = why.filter(|_| outcome != Outcome::Success);
        match granted.kind {
            Kind::Admitted | Kind::Probe => {
                let place = granted.place;
                let slot = &self.slots[place.slot()];
                if !self.is_still(place, slot) {
                    self.notify_uncounted(key, granted.started_ms, outcome);
                    return None;
                }
                // A success causes no transition if the call was not measured and was granted when no probes were in
                // flight.
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
                self.notify_outcome(key, outcome);
                let made = made?;
                // Not passed by reference: the grant would then have to be in memory on every other path, too.
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

    /// Reports an admitted call or a probe. The grant is passed in registers: behind a pointer it would first have to
    /// be written to memory on every other path, too.
    #[inline(never)]
    pub(super) fn report_observed(
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
        // A measured success may have been too slow, which shows in the word.
        let has_failed = match outcome {
            Outcome::Failure(_) => true,
            Outcome::Success => started_ms != 0 && slot.word.load(Ordering::Relaxed) != granted,
            Outcome::Ignored => false,
        };
        if has_failed {
            slot.note_failure(self.newest());
        }
    }

    /// Notifies of a call that concerns no breaker.
    #[inline]
    pub(super) fn notify_outcome(&self, key: &K, outcome: Outcome) {
        if self.observer.is_listening() {
            self.observer.outcome(key, outcome);
        }
    }

    /// Notifies of a call that reaches no breaker, which would otherwise say whether it was slow; here the rules of
    /// keys without a slot do.
    #[cold]
    pub(super) fn notify_uncounted(
        &self,
        key: &K,
        started_ms: Option<NonZeroU32>,
        outcome: Outcome,
    ) {
        let is_slow = outcome == Outcome::Success && self.was_slow(key, started_ms);
        let outcome = if is_slow {
            Failure::slow().into()
        } else {
            outcome
        };
        self.notify_outcome(key, outcome);
    }

    #[inline]
    pub(super) fn notify_cancelled(&self, key: &K) {
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
                    self.notify_cancelled(key);
                    return;
                }
                self.cancel_observed(key, place, granted.token());
            }
            Kind::Absent => self.cancel_absent(key, granted.started_ms),
            Kind::Unguarded | Kind::Ended => {}
        }
    }

    #[inline]
    pub(super) fn cancel_observed(&self, key: &K, place: Place, token: Token<u64>) {
        let slot = &self.slots[place.slot()];
        let (granted, started_ms) = token.into_raw();
        let words = Words::new(Some(hung), None);
        let breaker = self.breaker(slot, self.observer_of(key, place, &words));
        let made = breaker
            .resume(Token::from_raw(granted, started_ms))
            .cancel();
        // Treated as a success, because it may have been too slow.
        self.note(slot, Token::from_raw(granted, started_ms), Outcome::Success);
        if let Some(made) = made {
            slot.note_failure(self.newest());
            self.explain(place, slot, &made, &words);
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

    /// For keys that share a slot only outcomes are reported: the transitions of that slot belong to no key.
    #[inline]
    fn observer_of<'a, F: FnOnce() -> String>(
        &'a self,
        key: &'a K,
        place: Place,
        words: &'a Words<'a, F>,
    ) -> Explained<'a, K, O, F> {
        Explained {
            keyed: Keyed {
                key,
                observer: &self.observer,
            },
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
        // The slot may have changed hands meanwhile, and words of one key must not appear under another.
        if !self.is_still(place, slot) {
            slot.last_failure.clear();
        }
    }
}

#[inline]
fn slow_if_success(outcome: Outcome, slow: &dyn Fn() -> String) -> Option<&dyn Fn() -> String> {
    (outcome == Outcome::Success).then_some(slow)
}

fn hung() -> String {
    "hung until it was cancelled".to_owned()
}
