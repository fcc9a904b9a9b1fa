//! What notifies the observer of a registry of what a permit does, with the words of the failure that opened it.

use std::cell::Cell;

use atomic_breaker::{Observer, Outcome, State, Transition};

use super::KeyedObserver;

/// The words of a failure: put together at most once, and only if it opened a breaker.
pub(super) struct Words<F> {
    why: Cell<Option<F>>,
    words: Cell<Option<String>>,
}

impl<F: FnOnce() -> String> Words<F> {
    #[inline]
    pub(super) const fn new(why: Option<F>) -> Self {
        Self {
            why: Cell::new(why),
            words: Cell::new(None),
        }
    }

    pub(super) fn take(&self) -> Option<String> {
        let words = self.words.take();
        words.or_else(|| self.why.take().map(|why| why()))
    }
}

/// Notifies the observer of the registry of what the permit of a key does.
pub(super) struct Explained<'a, K, O, F> {
    pub(super) key: &'a K,
    pub(super) observer: &'a O,
    pub(super) words: &'a Words<F>,
    /// Whether the slot is that of those who got none.
    pub(super) is_shared: bool,
}

impl<K, O: KeyedObserver<K>, F: FnOnce() -> String> Observer for Explained<'_, K, O, F> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn transition(&self, transition: &Transition) {
        if self.is_shared {
            return;
        }
        let words = match transition.to {
            State::Open => self.words.take(),
            _ => None,
        };
        match words {
            Some(words) => {
                self.observer.opened(self.key, transition, &words);
                self.words.words.set(Some(words));
            }
            None => self.observer.transition(self.key, transition),
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
