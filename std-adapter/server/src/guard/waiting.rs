// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a guard and retrying, with tokio's timer.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Waker};

use atomic_breaker::{
    Classify, Failure, Outcome, Snapshot, State,
    wait::{
        Awaited, Repairing, Retry, TimeLimit, Timed, Tried, Tries, TryLimit, TryObserver, admitted,
    },
};
use tokio::time::timeout;

use super::grants::Grants;
use super::held::{GuardPermit, guarded};
use crate::TokioTimer;
use crate::permit::{AnyPermit, Rejection, Report, ServiceError, run_admitted};

/// An operation that a guard can run again: a closure that returns a future, or a [`Repairing`] one. Unlike that of
/// [`Repeatable`](atomic_breaker::wait::Repeatable), the future is a type of its own: of no other one can today's
/// compiler show that a retry by a guard may move between threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation that can be run again",
    note = "give a closure that returns a future of a `Result`, or `Repairing(|trips: u8| ..)` with one"
)]
pub trait Repeat<F> {
    /// True if a try that is a probe may begin with a repair, whose time is not the resource's.
    const REPAIRS: bool = false;

    /// Starts it once more. `trips` is 0 unless the try is a probe.
    fn start(&mut self, trips: u8) -> F;
}

impl<O: FnMut() -> F, F> Repeat<F> for O {
    fn start(&mut self, _: u8) -> F {
        self()
    }
}

impl<O: FnMut(u8) -> F, F> Repeat<F> for Repairing<O> {
    const REPAIRS: bool = true;

    fn start(&mut self, trips: u8) -> F {
        (self.0)(trips)
    }
}

/// A waiting caller. If only a share of the rejections is enforced, the dice are rolled once for all of this caller's
/// looks: if they were rolled at each look, no caller would wait for long.
struct Caller<G> {
    guard: G,
    /// Rolled only where it matters, because rolling writes to memory that all threads share.
    die: OnceLock<u32>,
}

impl<G: Grants + Clone> Caller<G> {
    const fn new(guard: G) -> Self {
        Self {
            guard,
            die: OnceLock::new(),
        }
    }

    fn die(&self) -> u32 {
        *self.die.get_or_init(|| self.guard.random())
    }

    fn acquire(&self) -> Result<GuardPermit<G>, Rejection> {
        GuardPermit::acquire_by(self.guard.clone(), |_| self.die())
    }

    async fn call<V, X, F, L>(
        &self,
        limit: L,
        classify: &impl Classify<V, L::Error<X>>,
        repairs: bool,
        operation: impl FnOnce(u8) -> F,
    ) -> Tried<V, ServiceError<L::Error<X>>>
    where
        L: TryLimit<Error<X>: fmt::Display>,
        F: Future<Output = Result<V, X>>,
    {
        let classified = async |trips: u8| {
            let result = {
                let mut sleep = pin!(limit.sleep(&TokioTimer));
                let mut operation = pin!(operation(trips));
                let poll = |context: &mut Context<'_>| {
                    L::poll::<TokioTimer, _, _, _>(operation.as_mut(), sleep.as_mut(), context)
                };
                poll_fn(poll).await
            };
            let outcome = classify.classify(&result);
            Ok((result, outcome))
        };
        let admit = || {
            let permit = self.acquire().map_err(ServiceError::Rejected)?;
            let trips = permit.trips();
            Ok((permit, trips))
        };
        match run_admitted(
            admit,
            Classified { repairs },
            classified,
            |never: Infallible| match never {},
        )
        .await
        {
            Ok((result, outcome)) => Tried::Ended(result.map_err(ServiceError::Failed), outcome),
            Err(rejected) => Tried::Rejected(rejected),
        }
    }
}

impl<G: Grants + Clone> Awaited for Caller<G> {
    type Epoch = <G::Awaited as Awaited>::Epoch;

    fn epoch(&self) -> Self::Epoch {
        self.guard.awaited().epoch()
    }

    /// A caller whose rejection is not enforced has nothing to wait for, which is what a disabled breaker says.
    fn snapshot(&self) -> Snapshot {
        let snapshot = self.guard.awaited().snapshot();
        let state = snapshot.state();
        if snapshot.wait().is_some() && !self.guard.is_enforced(state, || self.die()) {
            return Snapshot::new(State::Disabled);
        }
        snapshot
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.guard.awaited().wake_on_change(waker)
    }

    fn entropy(&self) -> u32 {
        self.guard.awaited().entropy()
    }
}

/// Reports the outcome from a classifier, with the words of the error.
struct Classified {
    repairs: bool,
}

impl<V, X: fmt::Display> Report<(Result<V, X>, Outcome), Infallible> for Classified {
    type Output<P: AnyPermit> = (Result<V, X>, Outcome);

    fn report<P: AnyPermit>(
        &self,
        mut permit: P,
        result: Result<(Result<V, X>, Outcome), Infallible>,
    ) -> Result<(Result<V, X>, Outcome), Infallible> {
        let (result, outcome) = result?;
        if self.repairs && permit.is_probe() && outcome == Outcome::Success {
            permit.renew();
        }
        match &result {
            Ok(_) => permit.report(outcome),
            Err(error) => permit.report_because(outcome, || error.to_string()),
        };
        Ok((result, outcome))
    }
}

pub(super) async fn acquire_when_ready<G: Grants + Clone>(guard: G) -> GuardPermit<G> {
    let caller = Caller::new(guard);
    admitted(&caller, TokioTimer, || caller.acquire().ok()).await
}

/// Makes the call repeatedly, as the policy says; only what counts as a failure is retried. Returns the result of the last
/// try, or the rejection if there was none.
pub(super) async fn retry<G, E, V, F, L, O>(
    guard: G,
    classify: impl Classify<V, L::Error<E>>,
    policy: Retry<L, impl TryObserver>,
    mut operation: O,
) -> Result<V, ServiceError<L::Error<E>>>
where
    G: Grants + Clone,
    L: TryLimit<Error<E>: fmt::Display>,
    F: Future<Output = Result<V, E>>,
    O: Repeat<F>,
{
    let caller = Caller::new(guard);
    let (limit, policy) = policy.split();
    let mut tries = Tries::new(TokioTimer, policy);
    loop {
        if let Some(end) = tries.turn(&caller).await {
            return end;
        }
        let ended = caller
            .call(limit, &classify, O::REPAIRS, |trips| {
                tries.begins();
                operation.start(trips)
            })
            .await;
        if let Some(end) = tries.judge(&caller, ended).await {
            return end;
        }
    }
}

/// Makes a call that takes no longer than the limit.
pub(super) fn call_timeout<G, V, E, F>(
    guard: G,
    limit: TimeLimit,
    operation: impl FnOnce() -> F,
) -> impl Future<Output = Result<V, ServiceError<Timed<E>>>>
where
    G: Grants,
    E: fmt::Display,
    F: Future<Output = Result<V, E>>,
{
    guarded(guard, InTime(limit), move || limited(limit, operation()))
}

/// An operation that is dropped when the time is over.
pub(crate) async fn limited<V, E>(
    limit: TimeLimit,
    operation: impl Future<Output = Result<V, E>>,
) -> Result<V, Timed<E>> {
    match limit.duration() {
        None => operation.await.map_err(Timed::Failed),
        Some(time) => match timeout(time, operation).await {
            Ok(result) => result.map_err(Timed::Failed),
            Err(_) => Err(Timed::TimedOut),
        },
    }
}

/// Reports errors, and calls that took too long.
pub(crate) struct InTime(pub(crate) TimeLimit);

impl<V, X: fmt::Display> Report<V, Timed<X>> for InTime {
    type Output<P: AnyPermit> = V;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<V, Timed<X>>) -> Result<V, Timed<X>> {
        match (&result, self.0.duration()) {
            (Ok(_), _) => permit.report(Outcome::Success),
            (Err(Timed::TimedOut), Some(limit)) => {
                let why = || format!("timed out after {limit:?}");
                permit.report_because(self.0.failure().into(), why)
            }
            (Err(error), _) => permit.report_because(Failure::new().into(), || error.to_string()),
        };
        result
    }
}
