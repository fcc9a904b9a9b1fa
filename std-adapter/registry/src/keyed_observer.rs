//! Observers of what happens to the keys of a registry.

use std::sync::Arc;

use atomic_breaker::{Outcome, Present, Rejected, Transition};

/// An [`Observer`](crate::Observer) for a registry, which also gets the key. Each transition is reported exactly
/// once, on the thread of the caller that caused it, so be brief and do not block. It may call the registry. If it
/// panics, a probe that was just admitted gives its slot back.
///
/// `()` observes nothing; a pair notifies both; a reference or `Arc` forwards; an `Option` forwards if it is `Some`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not observe a registry with keys of type `{K}`",
    note = "an observer of one breaker does not know of keys: take `Metrics<Keys>` for `Metrics`, or implement \
            `KeyedObserver`; the keys of `Log` and `Metrics` need `Display`"
)]
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

    /// [`transition`](Self::transition), to which it forwards by default, with the current word of the key. The
    /// registry calls this method; it is for observers that track the current state. Read the word at once: the slot
    /// may change hands.
    fn changed(&self, key: &K, transition: &Transition, present: Present<'_>) {
        let _ = present;
        self.transition(key, transition);
    }

    /// The state of a key has changed to open because a call failed, and the words of that failure are known. Called
    /// instead of [`changed`](Self::changed), to which it forwards by default.
    fn opened(&self, key: &K, transition: &Transition, present: Present<'_>, last_failure: &str) {
        let _ = last_failure;
        self.changed(key, transition, present);
    }

    /// A call was rejected.
    fn rejected(&self, key: &K, rejected: Rejected) {
        let _ = (key, rejected);
    }

    /// A call should have been rejected, but passes in [shadow mode](crate::Enforcement) or because [too many
    /// keys](super::RegistryBuilder::max_shut_out) are shut out. Its outcome is not reported. Forwards to
    /// [`rejected`](Self::rejected) by default.
    fn would_reject(&self, key: &K, rejected: Rejected) {
        self.rejected(key, rejected);
    }

    /// A permit was reported, including one of a key that has no slot because it never failed: each admitted call leads
    /// to one notification, this one or [`cancelled`](Self::cancelled). A success that took too long arrives as a
    /// failure that [is slow](atomic_breaker::Failure::is_slow).
    fn outcome(&self, key: &K, outcome: Outcome) {
        let _ = (key, outcome);
    }

    /// A permit was dropped without a report, whether that counts as a failure or not.
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

/// The methods of an observer that passes all notifications on; `$to` says to whom.
macro_rules! pass_on {
    ($self:ident, $to:ident) => {
        fn transition(&$self, key: &K, transition: &Transition) {
            $to!($self, transition(key, transition));
        }

        fn changed(&$self, key: &K, transition: &Transition, present: Present<'_>) {
            $to!($self, changed(key, transition, present));
        }

        fn opened(&$self, key: &K, transition: &Transition, present: Present<'_>, last_failure: &str) {
            $to!($self, opened(key, transition, present, last_failure));
        }

        fn rejected(&$self, key: &K, rejected: Rejected) {
            $to!($self, rejected(key, rejected));
        }

        fn would_reject(&$self, key: &K, rejected: Rejected) {
            $to!($self, would_reject(key, rejected));
        }

        #[inline]
        fn outcome(&$self, key: &K, outcome: Outcome) {
            $to!($self, outcome(key, outcome));
        }

        #[inline]
        fn cancelled(&$self, key: &K) {
            $to!($self, cancelled(key));
        }
    };
}

macro_rules! to_both {
    ($pair:ident, $($call:tt)*) => {
        let (first, second) = $pair;
        first.$($call)*;
        second.$($call)*;
    };
}

macro_rules! to_pointee {
    ($pointer:ident, $($call:tt)*) => {
        (**$pointer).$($call)*;
    };
}

macro_rules! to_some {
    ($option:ident, $($call:tt)*) => {
        if let Some(observer) = $option {
            observer.$($call)*;
        }
    };
}

impl<K, A: KeyedObserver<K>, B: KeyedObserver<K>> KeyedObserver<K> for (A, B) {
    #[inline]
    fn is_listening(&self) -> bool {
        self.0.is_listening() || self.1.is_listening()
    }

    pass_on!(self, to_both);
}

macro_rules! forward_pointer {
    ($($pointer:ty),*) => {$(
        impl<K, O: KeyedObserver<K> + ?Sized> KeyedObserver<K> for $pointer {
            #[inline]
            fn is_listening(&self) -> bool {
                (**self).is_listening()
            }

            pass_on!(self, to_pointee);
        }
    )*};
}

forward_pointer!(&O, Arc<O>, Box<O>);

impl<K, O: KeyedObserver<K>> KeyedObserver<K> for Option<O> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.as_ref().is_some_and(KeyedObserver::is_listening)
    }

    pass_on!(self, to_some);
}

/// A closure that is notified of transitions.
#[derive(Clone, Copy, Debug)]
pub struct OnKeyTransition<F>(pub F);

impl<K, F: Fn(&K, &Transition)> KeyedObserver<K> for OnKeyTransition<F> {
    fn transition(&self, key: &K, transition: &Transition) {
        (self.0)(key, transition);
    }
}
