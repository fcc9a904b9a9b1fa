//! What can be waited for, and waiting for it.

use core::task::Waker;

use super::Timer;
use super::waiter::Waiter;
use crate::breaker::{AnyBreaker, BitsOf};
use crate::clock::Clock;
use crate::observer::Observer;
use crate::permit::Permit;
use crate::snapshot::Snapshot;
use crate::word::Peek;

/// What can be waited for: every breaker, and anything that leads to one in its own way, such as a key of a registry.
/// [`admitted`] and [`Tries`](super::Tries) take one.
pub trait Awaited {
    /// What tells one epoch from the next.
    type Epoch: PartialEq;

    /// The current epoch. Taken before a [`snapshot`](Self::snapshot), so that no change is missed.
    fn epoch(&self) -> Self::Epoch;

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
    type Epoch = BitsOf<B>;

    fn epoch(&self) -> BitsOf<B> {
        self.as_breaker().to_bits().only_epoch()
    }

    fn snapshot(&self) -> Snapshot {
        self.as_breaker().snapshot()
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.as_breaker().observer().wake_on_change(waker)
    }

    fn entropy(&self) -> u32 {
        self.as_breaker().clock().entropy()
    }
}

/// Sleeps until `admit` returns something: [`acquire`] for anything that can be [awaited](Awaited).
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

/// Sleeps until the breaker can admit the caller.
///
/// Returns at once if the breaker is closed, disabled, or has a free slot. Otherwise waits as [the module](super) says. The
/// call may still be rejected then, if traffic returns or another caller was faster: [`acquire`] goes on until it has a
/// permit.
pub async fn ready(breaker: impl AnyBreaker, timer: impl Timer) {
    Waiter::new(timer).turn(&breaker).await;
}

/// Sleeps until the breaker admits the caller, and returns the permit. `handle` is a reference to the
/// breaker, or with the feature `alloc` an `Arc` of it, for a permit that is owned.
///
/// A waiting caller is not rejected, so observers are not notified. Only while traffic returns, when the
/// breaker decides at random, may its tries be rejected.
pub async fn acquire<H: AnyBreaker>(handle: H, timer: impl Timer) -> Permit<H> {
    // Not through `admitted`: a future within a future costs flash.
    let mut waiter = Waiter::trying(timer);
    let ticket = loop {
        waiter.turn(&handle).await;
        // Still rejected if another caller was faster, or while traffic returns.
        if let Ok(ticket) = handle.as_breaker().admit() {
            break ticket;
        }
    };
    Permit::new(handle, ticket)
}
