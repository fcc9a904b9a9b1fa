// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effects of a call's end on its key, even if the key had no slot when it began.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::{
    Clock, FailedCall, Failure, Outcome, Present, State, Tally, Token, Transition,
};

use super::admission::{COUNTED, Granted};
use super::breakers::Place;
use super::keyed_observer::{Explained, ObserverOfKey};
use super::ruleset::Ruleset;
use super::slot::Slot;
use super::{KeyedObserver, Registry};
use crate::failed::{Words, took};
use crate::guard::Kind;
use crate::loss::{Begun, ConnectionId};
use crate::redact::{too_slow, without_secrets, words};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Reports the outcome, or that the call was cancelled.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    pub(super) fn report(
        &self,
        key: &K,
        granted: Granted,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        match granted.kind {
            Kind::Admitted | Kind::Probe => {
                let place = granted.place;
                let slot = &self.slots[place.slot()];
                if !self.is_still(place, slot) {
                    self.notify_uncounted(key, granted.started_ms, outcome, why);
                    return None;
                }
                // A success causes no transition if the call was not measured and was granted when no probes were in
                // flight.
                let is_plain = granted.kind == Kind::Admitted
                    && granted.started_ms == 0
                    && outcome == Some(Outcome::Success);
                if !is_plain {
                    return self.report_observed(key, place, granted.token(), outcome, why);
                }
                slot.losses.note_answer();
                let breaker = self.breaker(slot, ());
                let made = breaker.resume(granted.token()).report(Outcome::Success);
                self.notify(key, outcome);
                made
            }
            Kind::Absent => self.report_absent(key, granted, outcome, why),
            Kind::Unguarded | Kind::Ended => None,
        }
    }

    /// Reports an admitted call or a probe. The grant is passed in registers: behind a pointer it would first have to
    /// be written to memory on every other path, too.
    #[inline(never)]
    fn report_observed(
        &self,
        key: &K,
        place: Place,
        token: Token<u64>,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let slot = &self.slots[place.slot()];
        if outcome == Some(Outcome::Success) {
            slot.losses.note_answer();
        }
        let (granted, started_ms) = token.into_raw();
        let text = Words::new(|| match outcome {
            // Only a success that took too long opens a breaker, and the words about a response do not say so.
            Some(Outcome::Success) => Some(self.too_slow(slot, started_ms)),
            Some(_) => why.map(|why| without_secrets(&words(why))),
            None => Some("hung until it was cancelled".to_owned()),
        });
        let explain = |made: &Transition, present: Present<'_>| {
            if made.to != State::Open {
                return None;
            }
            let text = text.get();
            slot.last_failure.set(made, present, text);
            // The slot may have changed hands meanwhile, and words of one key must not appear under another.
            if !self.is_still(place, slot) {
                slot.last_failure.clear();
            }
            text
        };
        let failure = Cell::new(None);
        let observer = Explained {
            keyed: ObserverOfKey {
                key,
                observer: &self.observer,
            },
            explain,
            failure: &failure,
        };
        let breaker = self.breaker(slot, observer);
        let permit = breaker.resume(Token::from_raw(granted, started_ms));
        let is_probe = permit.is_probe();
        let made = match outcome {
            Some(outcome) => permit.report(outcome),
            None => permit.cancel(),
        };
        if made.is_some() {
            self.note_state(place.slot());
        }
        // A call that was dropped may have been too slow, which shows in the word, or only in the memory of calls.
        let was_slow = || {
            started_ms != 0
                && (slot.word.load(Ordering::Relaxed) != granted
                    || self.took_too_long(self.rules_of(slot), started_ms))
        };
        let has_failed = match outcome {
            // A success that took too long is one, too.
            Some(_) => failure.get().is_some(),
            None => made.is_some() || was_slow(),
        };
        if has_failed {
            slot.note_failure(self.newest());
        }
        if let Some(failure) = failure.get().filter(|_| self.observer.is_listening()) {
            let took = || took(started_ms, self.clock.now_ms());
            let failed = FailedCall::new(failure, is_probe, &took, &text);
            self.observer.failed(key, &failed);
        }
        made
    }

    /// A call whose key had no slot when it began. It changes something only if it has failed, was slow, or succeeded and
    /// either the key has got a slot since, or rules apply now that remember calls; then it is reported as if it had been
    /// admitted when the key got the slot.
    #[inline]
    fn report_absent(
        &self,
        key: &K,
        granted: Granted,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let counts = match outcome {
            Some(Outcome::Failure(failure)) => failure.weight() > 0 || failure.is_tripping(),
            Some(Outcome::Ignored) => false,
            Some(Outcome::Success) | None => self.was_slow(key, granted.started_ms),
        };
        // A counter: unchanged if no key got a slot since, and no rules were replaced.
        let may_matter = outcome == Some(Outcome::Success) && self.newest() != granted.bits;
        if counts || may_matter {
            self.report_as_inserted(key, counts, granted, outcome, why)
        } else if let Some(Outcome::Failure(_)) = outcome {
            self.notify_uncounted(key, granted.started_ms, outcome, why);
            None
        } else {
            self.notify(key, outcome);
            None
        }
    }

    #[cold]
    fn report_as_inserted(
        &self,
        key: &K,
        counts: bool,
        granted: Granted,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let started_ms = granted.started_ms;
        // A success is worth a slot to rules that remember calls.
        let counts = counts || self.rules_of_absent(key).is_eager;
        let found = if counts {
            self.insert(key)
        } else {
            self.find(key)
        };
        if counts && found.is_none() && granted.bits != COUNTED {
            self.count_unguarded();
        }
        let born = found.and_then(|(place, slot)| {
            let token = self.token_at_insert(place, slot, started_ms)?;
            Some((place, token))
        });
        let Some((place, token)) = born else {
            self.notify_uncounted(key, started_ms, outcome, why);
            return None;
        };
        self.report_observed(key, place, token, outcome, why)
    }

    /// Returns whether a report of an admitted call, or of one whose key had no slot, would still count.
    pub(super) fn still_counts(&self, key: &K, granted: Granted) -> bool {
        let (place, slot, token) = if granted.kind == Kind::Absent {
            // It gets a slot if that matters, and then counts in it.
            let Some((place, slot)) = self.find(key) else {
                return true;
            };
            match self.token_at_insert(place, slot, granted.started_ms) {
                Some(token) => (place, slot, token),
                None => return false,
            }
        } else {
            let slot = &self.slots[granted.place.slot()];
            (granted.place, slot, granted.token())
        };
        let breaker = self.breaker(slot, ());
        let permit = breaker.resume(token);
        let counts = permit.still_counts();
        // It is asked, and not dropped.
        let _ = permit.into_token();
        counts && self.is_still(place, slot)
    }

    /// Starts such a call again; `None` if its report would no longer count, or its slot has changed hands.
    pub(super) fn renew(&self, key: &K, granted: Granted) -> Option<Granted> {
        if granted.kind == Kind::Absent {
            let started_ms = self.absent(self.rules_of_absent(key)).started_ms;
            return self.still_counts(key, granted).then_some(Granted {
                started_ms,
                ..granted
            });
        }
        let slot = &self.slots[granted.place.slot()];
        let breaker = self.breaker(slot, ());
        let mut permit = breaker.resume(granted.token());
        let is_current = permit.renew();
        let (is_probe, token) = (permit.is_probe(), permit.into_token());
        let renewed = Granted::by_breaker(is_probe, token, granted.place);
        (is_current && self.is_still(granted.place, slot)).then_some(renewed)
    }

    /// The token that such a call was granted; `None` if the slot has changed hands since, or if it would be a probe:
    /// the call was never granted a probe slot, so it has none to give back.
    fn token_at_insert(
        &self,
        place: Place,
        slot: &Slot<K, T>,
        started_ms: u32,
    ) -> Option<Token<u64>> {
        let breaker = self.breaker(slot, ());
        let granted = slot.word_at_insert.load(Ordering::Relaxed);
        if !self.is_still(place, slot) {
            return None;
        }
        let permit = breaker.resume(Token::from_raw(granted, started_ms));
        let (is_probe, token) = (permit.is_probe(), permit.into_token());
        (!is_probe).then_some(token)
    }

    /// Returns whether a failure that other calls share counts, for a call of the key that began then. A key without a
    /// slot gets one, as with any failure; if none is available, that is noticed when the failure is reported.
    #[cold]
    pub(super) fn counts_shared(&self, key: &K, begun: Begun, connection: ConnectionId) -> bool {
        match self.insert(key) {
            // If the slot changes hands meanwhile, one failure is lost, of a key that no longer has a slot.
            Some((_, slot)) => slot.losses.counts(Some(begun), connection),
            None => true,
        }
    }

    /// Notifies of a call that concerns no breaker.
    #[inline]
    fn notify(&self, key: &K, outcome: Option<Outcome>) {
        if self.observer.is_listening() {
            match outcome {
                Some(outcome) => self.observer.outcome(key, outcome),
                None => self.observer.cancelled(key),
            }
        }
    }

    /// Notifies of a call that reaches no breaker, which would otherwise say whether it was slow; here the rules of
    /// keys without a slot do.
    #[cold]
    fn notify_uncounted(
        &self,
        key: &K,
        started_ms: u32,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) {
        let is_slow = outcome == Some(Outcome::Success) && self.was_slow(key, started_ms);
        let outcome = if is_slow {
            Some(Failure::slow().into())
        } else {
            outcome
        };
        self.notify(key, outcome);
        if let Some(Outcome::Failure(failure)) = outcome {
            let took = || took(started_ms, self.clock.now_ms());
            let text = Words::new(|| {
                if is_slow {
                    Some(too_slow(started_ms, self.clock.now_ms(), None))
                } else {
                    why.map(|why| without_secrets(&words(why)))
                }
            });
            let failed = FailedCall::new(failure, false, &took, &text);
            self.observer.failed(key, &failed);
        }
    }

    /// Returns whether a call without a slot that began then took too long.
    #[inline]
    fn was_slow(&self, key: &K, started_ms: u32) -> bool {
        started_ms != 0 && self.took_too_long(self.rules_of_absent(key), started_ms)
    }

    fn took_too_long(&self, ruleset: &Ruleset, started_ms: u32) -> bool {
        let took_ms = self.clock.now_ms().wrapping_sub(started_ms);
        // More than half the range: the clock stepped back.
        took_ms <= u32::MAX / 2
            && ruleset
                .slow_call_ms
                .is_some_and(|limit_ms| took_ms >= limit_ms)
    }

    #[cold]
    fn too_slow(&self, slot: &Slot<K, T>, started_ms: u32) -> String {
        let limit_ms = self.rules_of(slot).slow_call_ms;
        let limit = limit_ms.map(|ms| Duration::from_millis(ms.into()));
        too_slow(started_ms, self.clock.now_ms(), limit)
    }
}
