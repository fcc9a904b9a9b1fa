// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries.

#![expect(
    clippy::manual_async_fn,
    reason = "an `async fn` holds each argument that it uses twice, a block once"
)]

use core::future::poll_fn;
use core::pin::pin;

use super::within::Within;
use super::{HasTimer, Repeatable, Retry, Tried, Tries, TryLimit, TryObserver};
use crate::breaker::Breaker;
use crate::call::count_panic;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::CallError;
use crate::observer::Observer;
use crate::outcome::{AnyError, Classify, Outcome};
use crate::tally::Tally;
use crate::token::Ticket;
use crate::unguarded::Unguarded;
use crate::word::Word;

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// [`call_async`](Self::call_async) with retries, as the [`Retry`] says. The future is `Send` if its arguments are,
    /// so it can be spawned. An `async` closure that mutates what it captures goes into [`Mutating`](super::Mutating).
    ///
    /// It gives up when the tries are used up, when the time is over, and as soon as the breaker rejects, whether it is
    /// open, half-open or returning. If a try of its own has tripped the breaker, it ends with that try, unless the
    /// breaker is due by the end of the usual pause. With [`Retry::wait_for_breaker`] it waits while the breaker would
    /// reject, as [`wait`](crate::wait) says.
    ///
    /// A rejection returns at once, so a loop around a retry needs a pause of its own: [`ready`](Self::ready), or the
    /// [time](crate::Rejected::retry_in) that the rejection names.
    ///
    /// # Errors
    /// The error of the last try, even if the breaker has rejected the next one; the rejection only if none was made. With
    /// [`Retry::try_limit`] the error of a try is a [`Timed<E>`](super::Timed).
    ///
    /// # Not around another call
    /// The operation is not a call through a breaker itself, or the breaker stands inside itself: while it is
    /// half-open, the inner call is rejected by the slot that the outer one holds. For a time limit there is
    /// [`Retry::try_limit`]. An operation that another breaker guards goes through [`retry_with`](Self::retry_with);
    /// see [`Unguarded`].
    ///
    /// ```
    /// use atomic_breaker::{Breaker, wait::{HasTimer, Retry}};
    /// # async fn send(_: &[u8]) -> Result<(), ()> { Ok(()) }
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>, reading: &[u8]) -> bool {
    ///     radio.retry(Retry::new(), || send(reading)).await.is_ok()
    /// }
    /// ```
    pub fn retry<V, E: Unguarded, L: TryLimit>(
        &self,
        policy: Retry<L, impl TryObserver>,
        operation: impl Repeatable<V, E>,
    ) -> impl Future<Output = Result<V, CallError<L::Error<E>>>>
    where
        C: HasTimer,
    {
        self.retry_with(AnyError, policy, operation)
    }

    /// [`retry`](Self::retry) with a classifier that says what a result means, to the breaker and to the retry: only a
    /// result that is a [failure](crate::Outcome::Failure) is tried again; one that is ignored, such as the caller's own
    /// mistake, or counts as a success is returned at once.
    pub fn retry_with<V, E, L: TryLimit>(
        &self,
        classify: impl Classify<V, L::Error<E>>,
        policy: Retry<L, impl TryObserver>,
        mut operation: impl Repeatable<V, E>,
    ) -> impl Future<Output = Result<V, CallError<L::Error<E>>>>
    where
        C: HasTimer,
    {
        const fn repairs<V, E, O: Repeatable<V, E>>(_: &O) -> bool {
            O::REPAIRS
        }
        let (limit, policy) = policy.split();
        async move {
            let repairs = repairs(&operation);
            let mut tries = Tries::new(self.clock.timer(), policy);
            loop {
                if let Some(result) = tries.turn(self).await {
                    return result;
                }
                let ended = self
                    .make_try(limit, &classify, repairs, |ticket| {
                        tries.begins();
                        operation.start(move || ticket.trips())
                    })
                    .await;
                if let Some(result) = tries.judge(self, ended).await {
                    return result;
                }
            }
        }
    }

    /// Makes one call, and returns what the classifier said of its result.
    fn make_try<V, E, F, L: TryLimit>(
        &self,
        limit: L,
        classify: &impl Classify<V, L::Error<E>>,
        repairs: bool,
        operation: impl FnOnce(Ticket<W::Bits>) -> F,
    ) -> impl Future<Output = Tried<V, CallError<L::Error<E>>>>
    where
        F: Future<Output = Result<V, E>>,
        C: HasTimer,
    {
        async move {
            let mut permit = match self.acquire() {
                Ok(permit) => permit,
                Err(rejected) => return Tried::Rejected(rejected.into()),
            };
            let result = {
                let mut sleep = pin!(limit.sleep(&self.clock.timer()));
                let ticket = permit.ticket;
                let mut future = pin!(count_panic(&mut permit, || operation(ticket)));
                let mark = if ticket.is_probe() { self.mark() } else { 0 };
                poll_fn(|context| {
                    let _within = (mark != 0).then(|| Within::enter(mark));
                    count_panic(&mut permit, || {
                        L::poll::<C::Timer, _, _, _>(future.as_mut(), sleep.as_mut(), context)
                    })
                })
                .await
                // The future is dropped before the report, so that tasks woken by the report find free what it held.
            };
            let outcome = count_panic(&mut permit, || classify.classify(&result));
            if repairs && permit.ticket.is_probe() && outcome == Outcome::Success {
                permit.renew();
            }
            permit.end(outcome);
            Tried::Ended(result.map_err(CallError::Failed), outcome)
        }
    }
}
