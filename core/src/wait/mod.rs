// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a breaker, retries, pings, and calls with a time limit: everything that needs a timer, over any
//! [`Timer`].
//!
//! These are methods of [`Breaker`](crate::Breaker), such as [`call_timeout`](crate::Breaker::call_timeout) and
//! [`retry`](crate::Breaker::retry). They sleep by the timer that the breaker's clock names: see [`HasTimer`]. For what
//! stands around a breaker in its own way there are [`admitted`] and [`Tries`]. Nothing here allocates or spawns.
//!
//! # How a waiter waits
//!
//! Callers wait for a breaker where they ask for it: by [`ready`](crate::Breaker::ready), by
//! [`acquire_when_ready`](crate::Breaker::acquire_when_ready), and in a retry by [`Retry::wait_for_breaker`].
//!
//! | the breaker is | a waiter looks again |
//! |---|---|
//! | open | after the open time plus its share of the spread; until then as while forced open |
//! | half-open, every slot taken | soon: after 5 to 10 ms, 10 to 20 ms, and so on, up to half a second to a second |
//! | returning | after half a second to a second, to try; the breaker decides at random |
//! | forced open | after a second, or after ten where the observer wakes it |
//!
//! - A look is a few loads of the word and one reading of each clock, so 32 waiters are a negligible load.
//! - Where the observer [wakes](crate::Observer::wake_on_change) tasks, a transition made here ends the sleep at once.
//!   Transitions made elsewhere (by another breaker over the same word, on another core or in another process) are
//!   noticed at the next look: within ten seconds, or within one if the observer does not wake tasks. No waiter ever
//!   waits without a timer.
//! - **Spread**: waiters that become ready together return over an eighth of the time for which they waited, or for
//!   which the breaker was open if that is longer, a second at most. Each returns at its own share of that time. A
//!   caller that never had to wait is not held up.

mod awaited;
mod has_timer;
mod policy;
mod prober;
mod repeatable;
mod retry;
mod time_limit;
mod timed_operation;
mod tries;
mod try_event;
mod try_limit;
mod waiter;
mod within;

pub use awaited::{Awaited, admitted};
pub use has_timer::{HasTimer, WithTimer};
pub use policy::Retry;
pub use prober::Prober;
pub use repeatable::{Mutating, Repairing, Repeatable};
pub use time_limit::{Limit, OneFailure, TimeLimit, Timed};
#[doc(hidden)]
pub use timed_operation::{ProbeRound, ProbeSeen, Repaired, TimedOperation, ToldProbe};
pub use tries::{Tried, Tries};
#[doc(hidden)]
pub use try_event::{ObservedTries, TryCourse};
pub use try_event::{RetryEvent, TryEvent, TryObserver};
pub use try_limit::TryLimit;

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

/// The timer of a runtime.
///
/// ```
/// # mod runtime {
/// #     pub fn uptime_ms() -> u64 { 0 }
/// #     pub type Sleep = std::future::Ready<()>;
/// #     pub fn sleep_until_ms(_: u64) -> Sleep { std::future::ready(()) }
/// # }
/// struct MyTimer;
///
/// impl atomic_breaker::wait::Timer for MyTimer {
///     type Sleep = runtime::Sleep;
///
///     fn now_ms(&self) -> u64 {
///         runtime::uptime_ms()
///     }
///     fn sleep(&self, ms: u64) -> runtime::Sleep {
///         runtime::sleep_until_ms(self.now_ms().saturating_add(ms))
///     }
/// }
/// ```
pub trait Timer {
    /// The future of [`sleep`](Self::sleep). Named, so that callers who need it to be `Send` can say so.
    type Sleep: Future<Output = ()>;

    /// Milliseconds since any fixed origin. Never goes back.
    fn now_ms(&self) -> u64;

    /// Ends when at least `ms` milliseconds have passed. Takes any number without a panic: one that
    /// is too large sleeps for as long as the runtime can.
    fn sleep(&self, ms: u64) -> Self::Sleep;
}

impl<T: Timer + ?Sized> Timer for &T {
    type Sleep = T::Sleep;

    fn now_ms(&self) -> u64 {
        (**self).now_ms()
    }

    fn sleep(&self, ms: u64) -> T::Sleep {
        (**self).sleep(ms)
    }
}

/// Milliseconds of a duration, rounded up. A value that does not fit becomes `u64::MAX`: forever.
const fn ms(time: Duration) -> u64 {
    let below_a_second = time.subsec_nanos().div_ceil(1_000_000) as u64;
    time.as_secs()
        .saturating_mul(1_000)
        .saturating_add(below_a_second)
}

/// Lets other tasks run once: after a rejection, which takes no time, so that a loop around it does not hold the executor.
pub(crate) fn yield_once() -> impl Future<Output = ()> {
    let mut has_yielded = false;
    poll_fn(move |context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Polls a future that may not take longer than a sleep; `None` when it did.
fn poll_within<F: Future, S: Future<Output = ()>>(
    future: Pin<&mut F>,
    sleep: Pin<&mut S>,
    context: &mut Context<'_>,
) -> Poll<Option<F::Output>> {
    match future.poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => sleep.poll(context).map(|()| None),
    }
}
