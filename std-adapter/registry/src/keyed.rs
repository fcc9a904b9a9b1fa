//! Observers of a slot's breaker, for a moment: they pass the key on to the observer of the registry.

use atomic_breaker::{Observer, Outcome, Present, Rejected, Transition};

use super::KeyedObserver;

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
        if self.is_listening() {
            self.observer.outcome(self.key, outcome);
        }
    }

    #[inline]
    fn cancelled(&self) {
        if self.is_listening() {
            self.observer.cancelled(self.key);
        }
    }
}

/// [`Keyed`], with the words of the failure that opened a breaker.
pub(super) struct Explained<'a, K, O, F> {
    pub(super) keyed: Keyed<'a, K, O>,
    /// Keeps the words, and returns them if there are any.
    pub(super) explain: F,
    /// Whether the slot is the one shared by the keys that got none: its transitions belong to no key.
    pub(super) is_shared: bool,
}

impl<K, O, F> Observer for Explained<'_, K, O, F>
where
    O: KeyedObserver<K>,
    F: Fn(&Transition, Present<'_>) -> Option<String>,
{
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        let words = (self.explain)(transition, present);
        let Keyed { key, observer } = self.keyed;
        match words {
            _ if self.is_shared || !observer.is_listening() => {}
            Some(words) => observer.opened(key, transition, present, &words),
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
