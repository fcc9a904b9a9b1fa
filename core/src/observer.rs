// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers: they are notified of events.

use core::fmt;
use core::iter::once;
use core::task::Waker;
use core::time::Duration;

use crate::error::Rejected;
use crate::outcome::{Failure, Outcome};
use crate::present::Present;
pub use crate::transition::{Cause, Transition};

/// Is notified of transitions, rejections and outcomes. `()` observes nothing and costs nothing; a pair notifies
/// both; a reference, or with the feature `alloc` an `Arc` or `Box`, forwards; an `Option` forwards if it is
/// `Some`; [`OnTransition`] or [`Builder::on_transition`](crate::Builder::on_transition) turns a closure that
/// takes each transition into an observer.
///
/// Each transition is reported exactly once, by the caller whose compare-and-swap made it, after it was made: on the
/// caller's thread or in its interrupt handler, so be brief and do not block. Two callers may report two transitions in
/// either order: an observer that keeps the last one implements [`changed`](Self::changed), as [`Present`] shows. One
/// that panics leaves the breaker's state intact, and misses notifications; while a panic of the operation is being
/// counted, the process aborts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not observe a circuit breaker",
    note = "implement `Observer`, or make a closure one: `on_transition(|transition: &Transition| ..)`"
)]
pub trait Observer {
    /// Returns whether this observer listens. If not, transitions are not even put together.
    fn is_listening(&self) -> bool {
        true
    }

    /// Returns whether this observer must be notified of every transition. A breaker over a word that processes share
    /// refuses such an observer: each process tells its own observers only.
    fn must_hear_all(&self) -> bool {
        false
    }

    /// The state changed, or a new round of probes began.
    fn transition(&self, transition: &Transition) {
        let _ = transition;
    }

    /// Like [`transition`](Self::transition), to which it forwards by default, but with the word as it is now. The
    /// breaker calls this method; implement it in observers that keep the current state.
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        let _ = present;
        self.transition(transition);
    }

    /// A call was rejected.
    fn rejected(&self, rejected: Rejected) {
        let _ = rejected;
    }

    /// A permit was reported: the outcome as it counts, so a success that took too long arrives as a failure that
    /// [is slow](crate::Failure::is_slow). Late reports are included, even if they change nothing.
    fn outcome(&self, outcome: Outcome) {
        let _ = outcome;
    }

    /// A permit was dropped without a report, whether that counts as a failure or not.
    fn cancelled(&self) {}

    /// A call failed, and the one who reported it can say why: after [`outcome`](Self::outcome), which is called for every
    /// failure. The breaker knows no words, so it does not call this; a `Resource` of `atomic-breaker-server` does.
    fn failed(&self, failed: &FailedCall<'_>) {
        let _ = failed;
    }

    /// Wakes the task once, at the next transition, and returns whether it will. By default it does not: a task
    /// that [waits](crate::wait) then looks at the state more often.
    ///
    /// Called in each poll of a waiting task. An implementation keeps the waker, unless it has one that
    /// [would wake](Waker::will_wake) the same task; in [`transition`](Self::transition) it wakes and forgets all that
    /// it has. If it has no room left, it returns `false`, and wakes no others to make room: they would do the same. To
    /// one that keeps no waker the call says that a caller is there: callers that wait are not
    /// [rejected](Self::rejected).
    fn wake_on_change(&self, waker: &Waker) -> bool {
        let _ = waker;
        false
    }
}

impl Observer for () {
    #[inline]
    fn is_listening(&self) -> bool {
        false
    }
}

/// Observers made of other observers, over which each `$part` iterates.
macro_rules! forward_observer {
    ([$($generics:tt)*] $whole:ty: |$it:ident| $($part:expr),+) => {
        impl<$($generics)*> Observer for $whole {
            fn is_listening(&self) -> bool {
                let $it = self;
                $($part.any(|observer| observer.is_listening()))||+
            }

            fn must_hear_all(&self) -> bool {
                let $it = self;
                $($part.any(|observer| observer.must_hear_all()))||+
            }

            fn transition(&self, transition: &Transition) {
                let $it = self;
                $(for observer in $part {
                    observer.transition(transition);
                })+
            }

            fn changed(&self, transition: &Transition, present: Present<'_>) {
                let $it = self;
                $(for observer in $part {
                    observer.changed(transition, present);
                })+
            }

            fn rejected(&self, rejected: Rejected) {
                let $it = self;
                $(for observer in $part {
                    observer.rejected(rejected);
                })+
            }

            fn outcome(&self, outcome: Outcome) {
                let $it = self;
                $(for observer in $part {
                    observer.outcome(outcome);
                })+
            }

            fn cancelled(&self) {
                let $it = self;
                $(for observer in $part {
                    observer.cancelled();
                })+
            }

            fn failed(&self, failed: &FailedCall<'_>) {
                let $it = self;
                $(for observer in $part {
                    observer.failed(failed);
                })+
            }

            /// Returns whether any of the parts will wake the task. All are asked.
            fn wake_on_change(&self, waker: &Waker) -> bool {
                let $it = self;
                $($part.any(|observer| observer.wake_on_change(waker)))|+
            }
        }
    };
    ($pointer:ty) => {
        forward_observer!([T: Observer + ?Sized] $pointer: |it| once(&**it));
    };
}

forward_observer!([O: Observer] Option<O>: |it| it.iter());
forward_observer!([A: Observer, B: Observer] (A, B): |it| once(&it.0), once(&it.1));
for_pointers!(forward_observer);

/// A call that failed, for observers that log it. Everything that costs something is put together only if it is asked
/// for.
#[derive(Clone, Copy)]
pub struct FailedCall<'a> {
    failure: Failure,
    is_probe: bool,
    took: &'a dyn Fn() -> Option<Duration>,
    why: &'a dyn fmt::Display,
}

impl<'a> FailedCall<'a> {
    /// A failed call. `took` and `why` are asked each time that an observer wants to know.
    pub const fn new(
        failure: Failure,
        is_probe: bool,
        took: &'a dyn Fn() -> Option<Duration>,
        why: &'a dyn fmt::Display,
    ) -> Self {
        Self {
            failure,
            is_probe,
            took,
            why,
        }
    }

    /// The failure as it counts.
    pub const fn failure(&self) -> Failure {
        self.failure
    }

    /// Returns whether the call was a probe.
    pub const fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// The duration of the call, in whole milliseconds. `None` if calls are not measured: they are where
    /// [`Config::slow_call`](crate::Config::slow_call) is set. Reads the clock.
    pub fn took(&self) -> Option<Duration> {
        (self.took)()
    }

    /// The cause of the failure, without secrets; empty if none was given. It may come from outside: control characters
    /// are not escaped.
    pub const fn why(&self) -> &'a dyn fmt::Display {
        self.why
    }
}

impl fmt::Debug for FailedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailedCall")
            .field("failure", &self.failure)
            .field("is_probe", &self.is_probe)
            .field("took", &self.took())
            .field("why", &format_args!("{}", self.why))
            .finish()
    }
}

/// A closure as an observer, called with each transition.
#[derive(Clone, Copy)]
pub struct OnTransition<F>(pub F);

impl<F> fmt::Debug for OnTransition<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnTransition").finish_non_exhaustive()
    }
}

impl<F: Fn(&Transition)> Observer for OnTransition<F> {
    #[inline]
    fn transition(&self, transition: &Transition) {
        (self.0)(transition);
    }
}
