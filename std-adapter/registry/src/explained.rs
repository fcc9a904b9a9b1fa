//! Observers of a slot's breaker, for a moment: they pass the key on to the observer of the registry.

use std::cell::Cell;

use atomic_breaker::{Observer, Outcome, Present, Rejected, State, Transition};

use super::KeyedObserver;
use crate::words::without_secrets;

/// The observer of a [`KeyBreaker`](super::KeyBreaker): notifies that of the registry of what happens to the key.
#[derive(Debug)]
pub struct Keyed<'a, K, O> {
    pub(super) key: &'a K,
    pub(super) observer: &'a O,
}

impl<K, O: KeyedObserver<K>> Observer for Keyed<'_, K, O> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.observer.changed(self.key, transition, present);
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

/// The words of a failure: put together at most once, and only if it opened a breaker.
pub(super) struct Words<'a, F> {
    why: Cell<Option<F>>,
    /// The words for a success, which opens a breaker only if it took too long.
    slow: Option<&'a dyn Fn() -> String>,
    composed: Cell<Option<String>>,
}

impl<'a, F: FnOnce() -> String> Words<'a, F> {
    #[inline]
    pub(super) const fn new(why: Option<F>, slow: Option<&'a dyn Fn() -> String>) -> Self {
        Self {
            why: Cell::new(why),
            slow,
            composed: Cell::new(None),
        }
    }

    pub(super) fn take(&self) -> Option<String> {
        let composed = self.composed.take();
        composed
            .or_else(|| self.why.take().map(|why| without_secrets(&why())))
            .or_else(|| self.slow.map(|slow| slow()))
    }
}

/// [`Keyed`], with the words of the failure that opened a breaker.
pub(super) struct Explained<'a, K, O, F> {
    pub(super) keyed: Keyed<'a, K, O>,
    pub(super) words: &'a Words<'a, F>,
    /// Whether the slot is the one shared by the keys that got none.
    pub(super) is_shared: bool,
}

impl<K, O: KeyedObserver<K>, F: FnOnce() -> String> Observer for Explained<'_, K, O, F> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.keyed.is_listening()
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        if self.is_shared {
            return;
        }
        let words = match transition.to {
            State::Open => self.words.take(),
            _ => None,
        };
        let Keyed { key, observer } = self.keyed;
        match words {
            Some(words) => {
                observer.opened(key, transition, present, &words);
                self.words.composed.set(Some(words));
            }
            None => observer.changed(key, transition, present),
        }
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        self.keyed.outcome(outcome);
    }

    #[inline]
    fn cancelled(&self) {
        self.keyed.cancelled();
    }
}
