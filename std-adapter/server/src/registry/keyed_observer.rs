// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers of what happens to the keys of a registry, and those of a slot's breaker, which pass the key on to them.

use std::cell::Cell;
use std::iter::once;
use std::sync::Arc;
use std::task::Waker;

use atomic_breaker::{FailedCall, Failure, Observer, Outcome, Present, Rejected, Transition};

/// An [`Observer`](crate::Observer) for a registry, which also gets the key. Each transition is reported exactly
/// once, on the thread of the caller that caused it, so be brief and do not block. It may call the registry. If it
/// panics, a probe that was just admitted gives its slot back.
///
/// `()` observes nothing; a pair notifies both; a reference or `Arc` forwards; an `Option` forwards if it is `Some`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not observe a registry with keys of type `{K}`",
    note = "an observer of one breaker does not know of keys: use `Metrics<OfKeys>` instead of `Metrics`, or implement \
            `KeyedObserver`; the keys of `Log` and `Metrics` need `Display`"
)]
pub trait KeyedObserver<K> {
    /// Returns whether it wants to be notified at all.
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

    /// A call failed: after [`outcome`](Self::outcome), which is called for every failure, with what is known of it.
    fn failed(&self, key: &K, failed: &FailedCall<'_>) {
        let _ = (key, failed);
    }

    /// A permit was dropped without a report, whether that counts as a failure or not.
    fn cancelled(&self, key: &K) {
        let _ = key;
    }

    /// A task waits until the key admits calls: wakes it once, at the key's next transition, and returns whether it will.
    /// By default it does not, and the task looks at the state more often. Called in each poll of the task, as
    /// [`Observer::wake_on_change`] is.
    fn wake_on_change(&self, key: &K, waker: &Waker) -> bool {
        let _ = (key, waker);
        false
    }
}

impl<K> KeyedObserver<K> for () {
    #[inline]
    fn is_listening(&self) -> bool {
        false
    }
}

/// Observers made of other observers, over which each `$part` iterates.
macro_rules! forward_observer {
    ($([$($generics:tt)*] $whole:ty: |$it:ident| $($part:expr),+;)*) => {$(
        impl<K, $($generics)*> KeyedObserver<K> for $whole {
            #[inline]
            fn is_listening(&self) -> bool {
                let $it = self;
                $($part.any(|observer| observer.is_listening()))||+
            }

            fn transition(&self, key: &K, transition: &Transition) {
                let $it = self;
                $(for observer in $part {
                    observer.transition(key, transition);
                })+
            }

            fn changed(&self, key: &K, transition: &Transition, present: Present<'_>) {
                let $it = self;
                $(for observer in $part {
                    observer.changed(key, transition, present);
                })+
            }

            fn opened(
                &self,
                key: &K,
                transition: &Transition,
                present: Present<'_>,
                last_failure: &str,
            ) {
                let $it = self;
                $(for observer in $part {
                    observer.opened(key, transition, present, last_failure);
                })+
            }

            fn rejected(&self, key: &K, rejected: Rejected) {
                let $it = self;
                $(for observer in $part {
                    observer.rejected(key, rejected);
                })+
            }

            fn would_reject(&self, key: &K, rejected: Rejected) {
                let $it = self;
                $(for observer in $part {
                    observer.would_reject(key, rejected);
                })+
            }

            #[inline]
            fn outcome(&self, key: &K, outcome: Outcome) {
                let $it = self;
                $(for observer in $part {
                    observer.outcome(key, outcome);
                })+
            }

            fn failed(&self, key: &K, failed: &FailedCall<'_>) {
                let $it = self;
                $(for observer in $part {
                    observer.failed(key, failed);
                })+
            }

            #[inline]
            fn cancelled(&self, key: &K) {
                let $it = self;
                $(for observer in $part {
                    observer.cancelled(key);
                })+
            }

            /// Returns whether any of the parts will wake the task. All are asked.
            fn wake_on_change(&self, key: &K, waker: &Waker) -> bool {
                let $it = self;
                $($part.any(|observer| observer.wake_on_change(key, waker)))|+
            }
        }
    )*};
}

forward_observer! {
    [O: KeyedObserver<K>] Option<O>: |it| it.iter();
    [A: KeyedObserver<K>, B: KeyedObserver<K>] (A, B): |it| once(&it.0), once(&it.1);
    [O: KeyedObserver<K> + ?Sized] &O: |it| once(&**it);
    [O: KeyedObserver<K> + ?Sized] Box<O>: |it| once(&**it);
    [O: KeyedObserver<K> + ?Sized] Arc<O>: |it| once(&**it);
}

/// A closure that is notified of transitions.
#[derive(Clone, Copy, Debug)]
pub struct OnKeyTransition<F>(pub F);

impl<K, F: Fn(&K, &Transition)> KeyedObserver<K> for OnKeyTransition<F> {
    fn transition(&self, key: &K, transition: &Transition) {
        (self.0)(key, transition);
    }
}

/// The observer of a [`KeyBreaker`](super::KeyBreaker): notifies that of the registry of what happens to the key.
#[derive(Debug)]
pub struct ObserverOfKey<'a, K, O> {
    pub(super) key: &'a K,
    pub(super) observer: &'a O,
}

impl<K, O: KeyedObserver<K>> Observer for ObserverOfKey<'_, K, O> {
    #[inline]
    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.observer.changed(self.key, transition, present);
    }

    fn rejected(&self, rejected: Rejected) {
        if self.is_listening() {
            self.observer.rejected(self.key, rejected);
        }
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

/// [`ObserverOfKey`], with the words of the failure that opened a breaker.
pub(super) struct Explained<'a, K, O, F> {
    pub(super) keyed: ObserverOfKey<'a, K, O>,
    /// Keeps the words, and returns them if there are any.
    pub(super) explain: F,
    /// The failure, if the call is one, as it counts.
    pub(super) failure: &'a Cell<Option<Failure>>,
}

impl<'a, K, O, F> Observer for Explained<'a, K, O, F>
where
    O: KeyedObserver<K>,
    F: Fn(&Transition, Present<'_>) -> Option<&'a str>,
{
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        let words = (self.explain)(transition, present);
        let ObserverOfKey { key, observer } = self.keyed;
        match words {
            _ if !observer.is_listening() => {}
            Some(words) => observer.opened(key, transition, present, words),
            None => observer.changed(key, transition, present),
        }
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        if let Outcome::Failure(failure) = outcome {
            self.failure.set(Some(failure));
        }
        self.keyed.outcome(outcome);
    }

    #[inline]
    fn cancelled(&self) {
        self.keyed.cancelled();
    }
}
