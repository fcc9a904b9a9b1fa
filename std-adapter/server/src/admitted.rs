//! Waiting and retrying where more than a breaker admits: a resource, or a registry by key.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Waker};

use atomic_breaker::{
    Classify, Failure, Outcome, Snapshot, State,
    wait::{Awaited, Retry, TimeLimit, Timed, Tried, Tries, TryLimit, admitted},
};
use tokio::time::timeout;

use crate::Enforcement;
use crate::TokioTimer;
use crate::parts::run_async;
use crate::{AnyPermit, Rejection, Report, ServiceError};

/// Leads to permits, and shows what a caller would get whose rejection is enforced.
pub trait Entrance {
    /// The right to one call.
    type Permit: AnyPermit;
    /// What a waiting caller looks at.
    type Awaited: Awaited;

    /// What a waiting caller looks at.
    fn awaited(&self) -> &Self::Awaited;

    /// The share of rejections that are enforced.
    fn enforcement(&self) -> &Enforcement;

    /// A random number, spread evenly over all its values.
    fn random(&self) -> u32;

    /// Asks for a permit. `random` decides whether a rejection is enforced.
    fn admit(&self, random: impl Fn() -> u32) -> Result<Self::Permit, Rejection>;
}

/// One waiting caller. If only a share of the rejections is enforced, the dice are rolled once for all of this caller's
/// looks: if they were rolled at each look, no caller would wait for long.
struct Caller<E> {
    entrance: E,
    /// Rolled only where it matters, because rolling writes to memory that all threads share.
    die: OnceLock<u32>,
}

impl<E: Entrance> Caller<E> {
    const fn new(entrance: E) -> Self {
        Self {
            entrance,
            die: OnceLock::new(),
        }
    }

    fn die(&self) -> u32 {
        *self.die.get_or_init(|| self.entrance.random())
    }

    fn enter(&self) -> Result<E::Permit, Rejection> {
        self.entrance.admit(|| self.die())
    }

    async fn call<V, X, F, L>(
        &self,
        limit: L,
        classify: &impl Classify<V, L::Error<X>>,
        operation: impl FnOnce() -> F,
    ) -> Tried<V, ServiceError<L::Error<X>>>
    where
        L: TryLimit<Error<X>: fmt::Display>,
        F: Future<Output = Result<V, X>>,
    {
        let permit = match self.enter() {
            Ok(permit) => permit,
            Err(rejection) => return Tried::Rejected(ServiceError::Rejected(rejection)),
        };
        let classified = async || {
            let result = {
                let mut sleep = pin!(limit.sleep(&TokioTimer));
                let mut operation = pin!(operation());
                let poll = |context: &mut Context<'_>| {
                    L::poll::<TokioTimer, _, _, _>(operation.as_mut(), sleep.as_mut(), context)
                };
                poll_fn(poll).await
            };
            let outcome = classify.classify(&result);
            Ok((result, outcome))
        };
        match run_async(permit, &Classified, classified).await {
            Ok((result, outcome)) => Tried::new(result.map_err(ServiceError::Failed), outcome),
            Err(ServiceError::Rejected(rejection)) => {
                Tried::Rejected(ServiceError::Rejected(rejection))
            }
            Err(ServiceError::Failed(never)) => match never {},
        }
    }
}

impl<E: Entrance> Awaited for Caller<E> {
    type Epoch = <E::Awaited as Awaited>::Epoch;

    fn epoch(&self) -> Self::Epoch {
        self.entrance.awaited().epoch()
    }

    /// A caller whose rejection is not enforced has nothing to wait for.
    fn snapshot(&self) -> Snapshot {
        let snapshot = self.entrance.awaited().snapshot();
        let enforcement = self.entrance.enforcement();
        if snapshot.wait().is_some() && !enforcement.is_enforced(|| self.die()) {
            return Snapshot::new(State::Disabled);
        }
        snapshot
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.entrance.awaited().wake_on_change(waker)
    }

    fn entropy(&self) -> u32 {
        self.entrance.awaited().entropy()
    }
}

/// Reports the outcome from a classifier, with the words of the error.
struct Classified;

impl<V, X: fmt::Display> Report<(Result<V, X>, Outcome), Infallible> for Classified {
    type Output<P: AnyPermit> = (Result<V, X>, Outcome);

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        result: Result<(Result<V, X>, Outcome), Infallible>,
    ) -> Result<(Result<V, X>, Outcome), Infallible> {
        let (result, outcome) = result?;
        match &result {
            Ok(_) => permit.report(outcome),
            Err(error) => permit.report_because(outcome, || error.to_string()),
        };
        Ok((result, outcome))
    }
}

/// Sleeps until there is a permit.
pub async fn acquire_when_ready<E: Entrance>(entrance: E) -> E::Permit {
    let caller = Caller::new(entrance);
    admitted(&caller, TokioTimer, || caller.enter().ok()).await
}

/// Makes the call repeatedly, as the policy says; only what counts as a failure is retried.
///
/// # Errors
/// The result of the last try, or the rejection if there was none.
pub async fn retry<E, V, X, F, L>(
    entrance: E,
    policy: Retry<L>,
    classify: impl Classify<V, L::Error<X>>,
    mut operation: impl FnMut() -> F,
) -> Result<V, ServiceError<L::Error<X>>>
where
    E: Entrance,
    L: TryLimit<Error<X>: fmt::Display>,
    F: Future<Output = Result<V, X>>,
{
    let caller = Caller::new(entrance);
    let mut tries = Tries::new(TokioTimer, policy);
    loop {
        if let Some(end) = tries.turn(&caller).await {
            return end;
        }
        let ended = caller
            .call(policy.each_try(), &classify, &mut operation)
            .await;
        if let Some(end) = tries.judge(&caller, ended).await {
            return end;
        }
    }
}

/// Runs an operation with its permit, for no longer than the limit.
pub async fn run_within<P, V, X, F>(
    permit: P,
    limit: TimeLimit,
    operation: impl FnOnce() -> F,
) -> Result<V, ServiceError<Timed<X>>>
where
    P: AnyPermit,
    X: fmt::Display,
    F: Future<Output = Result<V, X>>,
{
    let limited = async || match limit.limit() {
        None => operation().await.map_err(Timed::Failed),
        Some(time) => match timeout(time, operation()).await {
            Ok(result) => result.map_err(Timed::Failed),
            Err(_) => Err(Timed::TimedOut),
        },
    };
    run_async(permit, &InTime(limit), limited).await
}

/// Reports errors, and calls that took too long.
struct InTime(TimeLimit);

impl<V, X: fmt::Display> Report<V, Timed<X>> for InTime {
    type Output<P: AnyPermit> = V;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<V, Timed<X>>) -> Result<V, Timed<X>> {
        match (&result, self.0.limit()) {
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
