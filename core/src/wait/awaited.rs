// SPDX-License-Identifier: MIT OR Apache-2.0
//! Things that can be waited for, and the wait itself.

use core::task::Waker;

use super::waiter::Waiter;
use super::{HasTimer, Timer};
use crate::breaker::{AnyBreaker, BitsOf, Breaker};
use crate::clock::Clock;
use crate::config::AsRules;
use crate::observer::Observer;
use crate::permit::Permit;
use crate::snapshot::Snapshot;
use crate::tally::Tally;
use crate::word::{Peek, Word};

/// A thing that can be waited for: every breaker, and anything that leads to one in its own way, such as a key of a
/// registry. [`admitted`] and [`Tries`](super::Tries) take one.
pub trait Awaited {
    /// A value that differs from one epoch to the next.
    type Epoch: PartialEq;

    /// The current epoch. Taken before a [`snapshot`](Self::snapshot), so that no change is missed.
    fn epoch(&self) -> Self::Epoch;

    /// Returns the state that a caller would meet now. Asking changes nothing and notifies no observer.
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

/// Sleeps until `admit` returns something: [`Breaker::acquire_when_ready`] for anything that can be [awaited](Awaited).
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

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Sleeps until the breaker can admit the caller.
    ///
    /// Returns at once if the breaker is closed, disabled, or has a free slot. Otherwise waits as [`wait`](crate::wait)
    /// says: until the state changes if the observer [wakes](Observer::wake_on_change) tasks, with a look at the state
    /// once a second if not. The call may still be rejected then, if traffic returns or another caller was faster:
    /// [`acquire_when_ready`](Self::acquire_when_ready) goes on until it has a permit.
    pub async fn ready(&self)
    where
        C: HasTimer,
    {
        Waiter::new(self.clock.timer()).turn(self).await;
    }

    /// Sleeps until the breaker admits the caller, as [`ready`](Self::ready) does, and returns the permit. For one that
    /// owns its handle to the breaker, see [`Permit::acquire_when_ready`].
    ///
    /// A waiting caller is not rejected, so observers hear of no rejection. Only while traffic returns, when the breaker
    /// decides at random, may its tries be rejected. Waits for as long as it takes, even while the breaker is forced open.
    pub fn acquire_when_ready(&self) -> impl Future<Output = Permit<&Self>>
    where
        C: HasTimer,
    {
        Permit::acquire_when_ready(self)
    }
}

impl<H: AnyBreaker<Clock: HasTimer>> Permit<H> {
    /// [`Breaker::acquire_when_ready`] for a permit that owns its handle to the breaker, so that it can move to a spawned
    /// task.
    ///
    /// ```
    /// use atomic_breaker::{AnyBreaker, Permit, wait::HasTimer};
    ///
    /// async fn fail_once(server: impl AnyBreaker<Clock: HasTimer>) {
    ///     let permit = Permit::acquire_when_ready(server).await;
    ///     // It may move to another task here, if `server` is an `Arc`.
    ///     permit.failure();
    /// }
    /// ```
    pub async fn acquire_when_ready(handle: H) -> Self {
        // Not through `admitted`: a future within a future costs flash.
        let mut waiter = Waiter::trying(handle.as_breaker().clock.timer());
        let ticket = loop {
            waiter.turn(&handle).await;
            // Still rejected if another caller was faster, or while traffic returns.
            if let Ok(ticket) = handle.as_breaker().admit() {
                break ticket;
            }
        };
        Self::new(handle, ticket)
    }
}
