//! What is notified of events.

use core::fmt;
use core::task::Waker;

use crate::error::Rejected;
use crate::outcome::Outcome;
use crate::present::Present;
pub use crate::transition::{Cause, Transition};

/// Is notified of transitions, rejections and outcomes. `()` observes nothing and costs nothing; a pair notifies
/// both; a reference, or with the feature `alloc` an `Arc` or `Box`, forwards; an `Option` forwards if it is
/// `Some`; [`OnTransition`] or [`Builder::on_transition`](crate::Builder::on_transition) turns a closure that
/// takes each transition into an observer.
///
/// Each transition is reported exactly once, by the caller whose compare-and-swap made it, after it was made: on
/// the caller's thread or in its interrupt handler, so be brief and do not block. Two callers may report two
/// transitions in either order: an observer that keeps the last one implements [`changed`](Self::changed), where
/// the [`Present`] tells what the word says now. An observer that panics leaves the breaker's state intact; only
/// the notifications that it, or the other of a pair, was still to get are lost. If it panics while a panic of the
/// operation is being counted, the process aborts.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Observer, State, Transition};
/// use core::cell::Cell;
///
/// #[derive(Default)]
/// struct Trips(Cell<u32>);
///
/// impl Observer for Trips {
///     fn transition(&self, transition: &Transition) {
///         if transition.to == State::Open {
///             self.0.set(self.0.get() + 1);
///         }
///     }
/// }
///
/// let (clock, trips) = (ManualClock::new(), Trips::default());
/// let breaker = Breaker::builder(Config::new(), &clock).observer(&trips).build();
/// breaker.trip();
/// assert_eq!(trips.0.get(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not observe a circuit breaker",
    note = "implement `Observer`, or make a closure one: `on_transition(|transition: &Transition| ..)`"
)]
pub trait Observer {
    /// Whether this observer listens. If not, transitions are not even put together.
    fn is_listening(&self) -> bool {
        true
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

    /// Wakes the task once, at the next transition, and returns whether it will. By default it does not: a task
    /// that [waits](crate::wait) then looks at the state more often.
    ///
    /// Called in each poll of a waiting task. An implementation keeps the waker, unless it has one that [would
    /// wake](Waker::will_wake) the same task; in [`transition`](Self::transition) it wakes and forgets all wakers
    /// that it has. If it has no room left, it returns `false`; it must not wake others to make room, because they
    /// would come back and do the same.
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

macro_rules! forward_observer {
    ($($(#[$meta:meta])* impl<$o:ident> $pointer:ty;)*) => {$(
        $(#[$meta])*
        impl<$o: Observer + ?Sized> Observer for $pointer {
            fn is_listening(&self) -> bool {
                (**self).is_listening()
            }

            fn transition(&self, transition: &Transition) {
                (**self).transition(transition);
            }

            fn changed(&self, transition: &Transition, present: Present<'_>) {
                (**self).changed(transition, present);
            }

            fn rejected(&self, rejected: Rejected) {
                (**self).rejected(rejected);
            }

            fn outcome(&self, outcome: Outcome) {
                (**self).outcome(outcome);
            }

            fn cancelled(&self) {
                (**self).cancelled();
            }

            fn wake_on_change(&self, waker: &Waker) -> bool {
                (**self).wake_on_change(waker)
            }
        }
    )*};
}

forward_observer! {
    impl<O> &O;
    #[cfg(feature = "alloc")] impl<O> alloc::boxed::Box<O>;
    #[cfg(feature = "alloc")] impl<O> alloc::rc::Rc<O>;
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] impl<O> alloc::sync::Arc<O>;
}

impl<O: Observer> Observer for Option<O> {
    fn is_listening(&self) -> bool {
        self.as_ref().is_some_and(Observer::is_listening)
    }

    fn transition(&self, transition: &Transition) {
        if let Some(observer) = self {
            observer.transition(transition);
        }
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        if let Some(observer) = self {
            observer.changed(transition, present);
        }
    }

    fn rejected(&self, rejected: Rejected) {
        if let Some(observer) = self {
            observer.rejected(rejected);
        }
    }

    fn outcome(&self, outcome: Outcome) {
        if let Some(observer) = self {
            observer.outcome(outcome);
        }
    }

    fn cancelled(&self) {
        if let Some(observer) = self {
            observer.cancelled();
        }
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.as_ref()
            .is_some_and(|observer| observer.wake_on_change(waker))
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn is_listening(&self) -> bool {
        self.0.is_listening() || self.1.is_listening()
    }

    fn transition(&self, transition: &Transition) {
        self.0.transition(transition);
        self.1.transition(transition);
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.0.changed(transition, present);
        self.1.changed(transition, present);
    }

    fn rejected(&self, rejected: Rejected) {
        self.0.rejected(rejected);
        self.1.rejected(rejected);
    }

    fn outcome(&self, outcome: Outcome) {
        self.0.outcome(outcome);
        self.1.outcome(outcome);
    }

    fn cancelled(&self) {
        self.0.cancelled();
        self.1.cancelled();
    }

    /// One of them is enough.
    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.0.wake_on_change(waker) || self.1.wake_on_change(waker)
    }
}

/// A closure as an observer, called with each transition.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Transition};
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::builder(Config::new(), &clock)
///     .on_transition(|transition: &Transition| println!("{transition}"))
///     .build();
/// breaker.trip();
/// ```
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
