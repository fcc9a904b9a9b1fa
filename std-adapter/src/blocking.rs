// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting and retries for programs without `async`: [`Breaker::ready`](atomic_breaker::Breaker::ready) and
//! [`Breaker::retry`](atomic_breaker::Breaker::retry) that block their thread, for any breaker with any clock.
//!
//! ```
//! use atomic_breaker_std::{Breaker, Config, Retry, blocking, breaker};
//! use std::{io, net::TcpStream, time::Duration};
//!
//! static MAIL: Breaker = breaker(Config::new());
//!
//! fn connect() -> io::Result<TcpStream> {
//!     TcpStream::connect_timeout(&([127, 0, 0, 1], 1).into(), Duration::from_secs(1))
//! }
//!
//! // Three tries, 50 to 100 ms and then 100 to 200 ms apart.
//! let connection = blocking::retry(&MAIL, Retry::new(), connect);
//! assert!(connection.is_err());
//!
//! // A worker that has nothing else to do waits for the server.
//! if let Err(rejected) = blocking::ready(&MAIL, Duration::from_secs(60)) {
//!     println!("{rejected}");
//! }
//! ```
//!
//! A transition ends a wait at once where the breaker's observer [wakes](atomic_breaker::Observer::wake_on_change) tasks;
//! otherwise a waiter looks again as [`wait`] says, at least once a second.
//!
//! On a thread of an async runtime use the methods of the breaker itself: these would block all of its tasks.

use std::cell::Cell;
use std::time::{Duration, Instant};

use atomic_breaker::wait::{self, Retry, Tried, Tries, TryObserver};
use atomic_breaker::{AnyBreaker, AnyError, CallError, Classify, Rejected, Unguarded};

use crate::thread::{ThreadTimer, block_on, within};

/// Blocks until the breaker can admit the caller, for at most `limit`; [`Duration::MAX`] is for ever. The call may still be
/// rejected then, if traffic returns or another caller was faster.
///
/// # Errors
/// The rejection that a call would meet at the end of that time.
pub fn ready(breaker: &impl AnyBreaker, limit: Duration) -> Result<(), Rejected> {
    let until = Instant::now().checked_add(limit);
    let breaker = breaker.as_breaker();
    let ready = wait::admitted(breaker, ThreadTimer, || Some(()));
    match block_on(within(until, ready)) {
        Some(()) => Ok(()),
        None => breaker.snapshot().rejection().map_or(Ok(()), Err),
    }
}

/// Makes a [`call`](atomic_breaker::Breaker::call) with retries, as the [`Retry`] says: each failure is tried again after a
/// pause, which the thread sleeps. Ends as [`Breaker::retry`](atomic_breaker::Breaker::retry) does.
///
/// There is no limit of a try, as nothing can end the operation but itself: give it a timeout.
///
/// # Errors
/// The error of the last try, even if the breaker has rejected the next one; the rejection only if none was made.
pub fn retry<V, E: Unguarded>(
    breaker: &impl AnyBreaker,
    policy: Retry<(), impl TryObserver>,
    operation: impl FnMut() -> Result<V, E>,
) -> Result<V, CallError<E>> {
    retry_with(breaker, AnyError, policy, operation)
}

/// Does as [`retry`], with a classifier that says what a result means, to the breaker and to the retry: only a result that is
/// a [failure](atomic_breaker::Outcome::Failure) is tried again.
///
/// # Errors
/// As of [`retry`].
#[expect(
    clippy::needless_pass_by_value,
    reason = "as the methods of the breaker take it"
)]
pub fn retry_with<V, E>(
    breaker: &impl AnyBreaker,
    classify: impl Classify<V, E>,
    policy: Retry<(), impl TryObserver>,
    mut operation: impl FnMut() -> Result<V, E>,
) -> Result<V, CallError<E>> {
    let breaker = breaker.as_breaker();
    block_on(async {
        let mut tries = Tries::new(ThreadTimer, policy);
        loop {
            if let Some(result) = tries.turn(breaker).await {
                return result;
            }
            let outcome = Cell::new(None);
            let noted = |result: &Result<V, E>| {
                let said = classify.classify(result);
                outcome.set(Some(said));
                said
            };
            let result = breaker.call_with(noted, || {
                tries.begins();
                operation()
            });
            let ended = match (outcome.get(), result) {
                (Some(outcome), result) => Tried::Ended(result, outcome),
                (None, Err(rejected)) => Tried::Rejected(rejected),
                // Never, as each result is classified.
                (None, result) => return result,
            };
            if let Some(result) = tries.judge(breaker, ended).await {
                return result;
            }
        }
    })
}
