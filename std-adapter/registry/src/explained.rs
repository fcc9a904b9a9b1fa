//! Notifies the observer of a registry of what a permit does, with the words of the failure that opened a breaker.

use std::cell::Cell;

use atomic_breaker::{Observer, Outcome, Present, State, Transition};

use super::KeyedObserver;
use crate::words::without_secrets;

/// The words of a failure: put together at most once, and only if it opened a breaker.
pub(super) struct Words<'a, F> {
    why: Cell<Option<F>>,
    /// The words for a success, which opens a breaker only if it took too long.
    slow: Option<&'a dyn Fn() -> String>,
    told: Cell<Option<String>>,
}

impl<'a, F: FnOnce() -> String> Words<'a, F> {
    #[inline]
    pub(super) const fn new(why: Option<F>, slow: Option<&'a dyn Fn() -> String>) -> Self {
        Self {
            why: Cell::new(why),
            slow,
            told: Cell::new(None),
        }
    }

    pub(super) fn take(&self) -> Option<String> {
        let told = self.told.take();
        told.or_else(|| self.why.take().map(|why| without_secrets(&why())))
            .or_else(|| self.slow.map(|slow| slow()))
    }
}

/// Notifies the observer of the registry of what the permit of a key does.
pub(super) struct Explained<'a, K, O, F> {
    pub(super) key: &'a K,
    pub(super) observer: &'a O,
    pub(super) words: &'a Words<'a, F>,
    /// Whether the slot is the one shared by the keys that got none.
    pub(super) is_shared: bool,
}

impl<K, O: KeyedObserver<K>, F: FnOnce() -> String> Observer for Explained<'_, K, O, F> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        if self.is_shared {
            return;
        }
        let words = match transition.to {
            State::Open => self.words.take(),
            _ => None,
        };
        match words {
            Some(words) => {
                self.observer.opened(self.key, transition, present, &words);
                self.words.told.set(Some(words));
            }
            None => self.observer.changed(self.key, transition, present),
        }
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
