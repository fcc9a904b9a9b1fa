//! Sleeping until the breaker can admit a call.

use super::Timer;
use super::waiter::Waiter;
use crate::breaker::AnyBreaker;
use crate::permit::Permit;

/// Sleeps until the breaker can admit the caller.
///
/// Returns at once if the breaker is closed, disabled, or has a free slot. Otherwise waits as [the
/// module](super) says; while traffic returns, that is half a second to a second, and the call may still
/// be rejected then. Another caller may be faster, too: [`acquire`] goes on until it has a permit.
///
/// ```
/// use atomic_breaker::{Breaker, ManualClock, wait::{self, Timer}};
/// # async fn send() -> Result<(), ()> { Ok(()) }
///
/// async fn task(radio: &Breaker<ManualClock>, timer: impl Timer) {
///     loop {
///         wait::ready(radio, &timer).await;
///         let _ = radio.call_async(send).await;
///     }
/// }
/// ```
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
