//! What can be waited for.

use core::task::Waker;

use super::Timer;
use super::waiter::Waiter;
use crate::breaker::{AnyBreaker, BitsOf};
use crate::clock::Clock;
use crate::observer::Observer;
use crate::snapshot::Snapshot;
use crate::word::Peek;

/// What can be waited for: every breaker, and anything that leads to one in its own way, such as a key of a registry.
/// [`admitted`] and [`Tries`](super::Tries) take one.
///
/// ```
/// use atomic_breaker::wait::{self, Awaited, Timer};
/// use atomic_breaker::{BitsOf, Breaker, ManualClock, Permit, Snapshot, State};
///
/// type Server = Breaker<ManualClock>;
///
/// /// A server that is called whatever its breaker says while it is being tested.
/// struct Tested<'a> {
///     server: &'a Server,
///     is_enforced: bool,
/// }
///
/// impl Awaited for Tested<'_> {
///     type Seen = BitsOf<Server>;
///
///     fn look(&self) -> Self::Seen {
///         self.server.look()
///     }
///     fn has_changed_since(&self, seen: Self::Seen) -> bool {
///         self.server.has_changed_since(seen)
///     }
///     fn snapshot(&self) -> Snapshot {
///         match self.is_enforced {
///             true => self.server.snapshot(),
///             false => Snapshot::new(State::Disabled),
///         }
///     }
/// }
///
/// /// No permit if the call is not to be reported.
/// async fn acquire<'a>(tested: &Tested<'a>, timer: impl Timer) -> Option<Permit<&'a Server>> {
///     wait::admitted(tested, timer, || match tested.is_enforced {
///         true => tested.server.acquire().ok().map(Some),
///         false => Some(None),
///     })
///     .await
/// }
/// # let server = Server::new(atomic_breaker::Config::new(), ManualClock::new());
/// # let tested = Tested { server: &server, is_enforced: false };
/// # server.trip();
/// # assert!(tested.snapshot().wait().is_none() && !tested.has_changed_since(tested.look()));
/// # fn f<T: Timer>(tested: &Tested<'_>, timer: T) { let _ = acquire(tested, timer); }
/// ```
pub trait Awaited {
    /// What [`look`](Self::look) remembers.
    type Seen: Copy;

    /// What tells one epoch from the next. Taken before a [`snapshot`](Self::snapshot), so that no change is
    /// missed.
    fn look(&self) -> Self::Seen;

    /// Whether there was a transition since this look.
    fn has_changed_since(&self, seen: Self::Seen) -> bool;

    /// What a caller would meet now. Asking changes nothing and notifies no observer.
    fn snapshot(&self) -> Snapshot;

    /// Wakes this task at the next transition, if it can, and returns whether it will:
    /// [`Observer::wake_on_change`].
    fn wake_on_change(&self, waker: &Waker) -> bool {
        let _ = waker;
        false
    }

    /// A number that differs between processes: [`Clock::entropy`].
    fn entropy(&self) -> u32 {
        0
    }
}

impl<B: AnyBreaker> Awaited for B {
    type Seen = BitsOf<B>;

    #[inline]
    fn look(&self) -> BitsOf<B> {
        self.as_breaker().to_bits()
    }

    #[inline]
    fn has_changed_since(&self, seen: BitsOf<B>) -> bool {
        !self.as_breaker().to_bits().is_same_epoch(seen)
    }

    #[inline]
    fn snapshot(&self) -> Snapshot {
        self.as_breaker().snapshot()
    }

    #[inline]
    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.as_breaker().observer().wake_on_change(waker)
    }

    #[inline]
    fn entropy(&self) -> u32 {
        self.as_breaker().clock().entropy()
    }
}

/// Sleeps until `admit` returns something: [`acquire`](super::acquire) for anything that can be [awaited](Awaited).
///
/// `admit` is called at once if the [snapshot](Awaited::snapshot) says that a call would be admitted, otherwise when
/// [the module](super) says; again if another caller was faster, and while traffic returns. It must agree with the
/// snapshot: a call that is refused although its snapshot has no [wait](Snapshot::wait) is tried again without a pause.
pub async fn admitted<P>(
    awaited: &impl Awaited,
    timer: impl Timer,
    mut admit: impl FnMut() -> Option<P>,
) -> P {
    let mut waiter = Waiter::trying(timer);
    loop {
        waiter.turn(awaited).await;
        // Still rejected if another caller was faster, or while traffic returns.
        if let Some(permit) = admit() {
            return permit;
        }
    }
}
