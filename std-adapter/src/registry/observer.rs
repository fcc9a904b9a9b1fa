//! Who is notified of what happens to the keys of a registry.

use std::sync::Arc;

use atomic_breaker::{Outcome, Rejected, Transition};

/// [`Observer`](crate::Observer) for a registry: is notified of the key as well. Each transition is reported
/// exactly once, on the thread of the caller who made it, so be brief and do not block. Calls of keys that
/// have no slot are not reported: nothing happens to them.
///
/// `()` observes nothing; a pair notifies both; a reference or `Arc` forwards.
pub trait KeyedObserver<K> {
    /// Whether it wants to be notified at all.
    #[inline]
    fn is_listening(&self) -> bool {
        true
    }

    /// The state of a key has changed.
    fn transition(&self, key: &K, transition: &Transition) {
        let _ = (key, transition);
    }

    /// A call was rejected, or passes nevertheless in shadow mode.
    fn rejected(&self, key: &K, rejected: Rejected) {
        let _ = (key, rejected);
    }

    /// A permit was reported.
    fn outcome(&self, key: &K, outcome: Outcome) {
        let _ = (key, outcome);
    }

    /// A permit was dropped without a report.
    fn cancelled(&self, key: &K) {
        let _ = key;
    }
}

impl<K> KeyedObserver<K> for () {
    #[inline]
    fn is_listening(&self) -> bool {
        false
    }
}

impl<K, A: KeyedObserver<K>, B: KeyedObserver<K>> KeyedObserver<K> for (A, B) {
    fn is_listening(&self) -> bool {
        self.0.is_listening() || self.1.is_listening()
    }

    fn transition(&self, key: &K, transition: &Transition) {
        self.0.transition(key, transition);
        self.1.transition(key, transition);
    }

    fn rejected(&self, key: &K, rejected: Rejected) {
        self.0.rejected(key, rejected);
        self.1.rejected(key, rejected);
    }

    fn outcome(&self, key: &K, outcome: Outcome) {
        self.0.outcome(key, outcome);
        self.1.outcome(key, outcome);
    }

    fn cancelled(&self, key: &K) {
        self.0.cancelled(key);
        self.1.cancelled(key);
    }
}

macro_rules! forward_pointer {
    ($($pointer:ty),*) => {$(
        impl<K, O: KeyedObserver<K> + ?Sized> KeyedObserver<K> for $pointer {
            fn is_listening(&self) -> bool {
                (**self).is_listening()
            }

            fn transition(&self, key: &K, transition: &Transition) {
                (**self).transition(key, transition);
            }

            fn rejected(&self, key: &K, rejected: Rejected) {
                (**self).rejected(key, rejected);
            }

            fn outcome(&self, key: &K, outcome: Outcome) {
                (**self).outcome(key, outcome);
            }

            fn cancelled(&self, key: &K) {
                (**self).cancelled(key);
            }
        }
    )*};
}

forward_pointer!(&O, Arc<O>, Box<O>);

/// A closure that is notified of transitions.
#[derive(Clone, Copy, Debug)]
pub struct OnKeyTransition<F>(pub F);

impl<K, F: Fn(&K, &Transition)> KeyedObserver<K> for OnKeyTransition<F> {
    fn transition(&self, key: &K, transition: &Transition) {
        (self.0)(key, transition);
    }
}
