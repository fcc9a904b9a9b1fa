// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks that know which timer to sleep by.

use super::Timer;
use crate::clock::{Clock, SharedClock};

/// A clock that knows which timer to sleep by: what the methods of a [`Breaker`](crate::Breaker) demand that wait or limit
/// a time.
///
/// `EmbassyClock` of atomic-breaker-embassy has the timer of embassy, the clocks of atomic-breaker-std have that of
/// tokio, with the feature `tokio`. Any other clock gets a timer by [`WithTimer`], or implements this.
#[diagnostic::on_unimplemented(
    message = "the clock `{Self}` has no timer to sleep by",
    note = "the clocks of atomic-breaker-std have one with the feature `tokio`; pair any other clock with a \
            timer: `wait::WithTimer`"
)]
pub trait HasTimer: Clock {
    /// The timer, which is part of each future that sleeps by it: best a type of size zero, or a reference.
    type Timer: Timer;

    /// Returns the timer.
    fn timer(&self) -> Self::Timer;
}

macro_rules! forward_timer {
    ($pointer:ty) => {
        impl<T: HasTimer + ?Sized> HasTimer for $pointer {
            type Timer = T::Timer;

            fn timer(&self) -> T::Timer {
                (**self).timer()
            }
        }
    };
}

for_pointers!(forward_timer);

/// A clock, and the timer to sleep by: for clocks that have none, such as [`ManualClock`](crate::ManualClock), and for
/// runtimes without an adapter.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, wait::{Timer, WithTimer}};
/// use core::time::Duration;
/// # async fn send() -> Result<(), ()> { Ok(()) }
///
/// async fn report(clock: &ManualClock, timer: impl Timer + Clone) -> bool {
///     let radio = Breaker::new(Config::new(), WithTimer { clock, timer });
///     radio.call_timeout(Duration::from_millis(200), send).await.is_ok()
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WithTimer<C, T> {
    /// Tells the breaker's time.
    pub clock: C,
    /// Sleeps.
    pub timer: T,
}

impl<C: Clock, T> Clock for WithTimer<C, T> {
    fn now_ms(&self) -> u32 {
        self.clock.now_ms()
    }

    fn entropy(&self) -> u32 {
        self.clock.entropy()
    }

    fn random(&self) -> u32 {
        self.clock.random()
    }
}

impl<C: SharedClock, T> SharedClock for WithTimer<C, T> {}

impl<C: Clock, T: Timer + Clone> HasTimer for WithTimer<C, T> {
    type Timer = T;

    fn timer(&self) -> T {
        self.timer.clone()
    }
}
