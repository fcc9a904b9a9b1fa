//! Observers that wake tasks.

use core::task::Waker;

#[cfg(feature = "heapless")]
use crate::event_log::EventLog;
use crate::observer::{Observer, OnTransition};

/// An observer that may wake the tasks that wait for a change of state.
///
/// By default it does not, and whoever waits looks at the state by a timer. So for an observer of
/// yours one line is enough:
///
/// ```
/// use atomic_breaker::{Observer, Transition, wait::Changes};
///
/// struct Lamp;
///
/// impl Observer for Lamp {
///     fn transition(&self, transition: &Transition) {
///         // Light it.
/// #       let _ = transition;
///     }
/// }
///
/// impl Changes for Lamp {}
/// ```
#[diagnostic::on_unimplemented(
    message = "nobody can wait for a breaker whose observer is `{Self}`",
    note = "say that it wakes nobody: `impl Changes for {Self} {{}}`, or implement its method"
)]
pub trait Changes: Observer {
    /// Wakes the task once, at the next transition, and answers whether it will.
    ///
    /// Called in each poll of whoever waits. An implementation keeps the waker, unless it has one that
    /// [would wake](Waker::will_wake) the same task, and wakes and forgets all that it has
    /// in [`Observer::transition`]. Where it has no room left it answers `false`; it must not wake
    /// others to make room, as they would come back and do the same.
    fn wake_on_change(&self, waker: &Waker) -> bool {
        let _ = waker;
        false
    }
}

impl Changes for () {}

impl<F> Changes for OnTransition<F> where Self: Observer {}

#[cfg(feature = "heapless")]
impl<const N: usize> Changes for EventLog<N> {}

impl Changes for dyn Observer + '_ {}
impl Changes for dyn Observer + Send + '_ {}
impl Changes for dyn Observer + Send + Sync + '_ {}

impl<O: Changes> Changes for Option<O> {
    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.as_ref()
            .is_some_and(|observer| observer.wake_on_change(waker))
    }
}

impl<A: Changes, B: Changes> Changes for (A, B) {
    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.0.wake_on_change(waker) || self.1.wake_on_change(waker)
    }
}

macro_rules! forward_changes {
    ($($(#[$meta:meta])* impl<$o:ident> $pointer:ty;)*) => {$(
        $(#[$meta])*
        impl<$o: Changes + ?Sized> Changes for $pointer {
            fn wake_on_change(&self, waker: &Waker) -> bool {
                (**self).wake_on_change(waker)
            }
        }
    )*};
}

forward_changes! {
    impl<O> &O;
    #[cfg(feature = "alloc")] impl<O> alloc::boxed::Box<O>;
    #[cfg(feature = "alloc")] impl<O> alloc::rc::Rc<O>;
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] impl<O> alloc::sync::Arc<O>;
}
