//! One breaker with what servers want to know beside its state.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use atomic_breaker::{
    AnyBreaker, AnyError, BitsOf, Breaker, Clock, Outcome, Rejected, State, Token, Transition,
};

use super::{
    Admit, AnyPermit, Enforcement, LastFailureCell, Rejection, Report, ServiceError, call_reported,
    count_panic,
};

/// One breaker, the failure that opened it, and whether it is enforced. Leads to the breaker itself by
/// `Deref`, for snapshots and commands. (What is called by way of the breaker itself, as by `BreakerExt`, knows
/// neither of shadow mode nor of the last failure.)
///
/// ```
/// use atomic_breaker_std::{AnyPermit, Config, Outcome, Resource, breaker};
///
/// static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
///
/// let permit = PAYMENTS.acquire()?;
/// // The call.
/// permit.report(Outcome::Success);
/// # Ok::<(), atomic_breaker_std::Rejection>(())
/// ```
#[derive(Debug, Default)]
pub struct Resource<B = crate::Breaker> {
    breaker: B,
    last_failure: LastFailureCell,
    enforcement: Enforcement,
}

impl<B> Resource<B> {
    /// Around a breaker.
    pub const fn new(breaker: B) -> Self {
        Self {
            breaker,
            last_failure: LastFailureCell::new(),
            enforcement: Enforcement::new(),
        }
    }

    /// The failure that opened it last. It is kept when the breaker closes, as history: [`LastFailure::at`]
    /// says when it was. A breaker that opens by a report without words forgets it; one that is opened by
    /// command keeps it.
    ///
    /// [`LastFailure::at`]: super::LastFailure::at
    pub const fn last_failure(&self) -> &LastFailureCell {
        &self.last_failure
    }

    /// The share of rejections that are enforced: shadow mode.
    pub const fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }
}

impl<B> Deref for Resource<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.breaker
    }
}

impl<B: AnyBreaker> Resource<B> {
    /// Asks for the right to one call. From an `Arc`, [`ResourcePermit::acquire`] gives one that is owned.
    ///
    /// # Errors
    /// [`Rejection`] says how long to wait, and why it opened.
    pub fn acquire(&self) -> Result<ResourcePermit<&Self>, Rejection> {
        ResourcePermit::acquire(self)
    }

    /// Runs an operation unless the breaker rejects it. `Err` is a failure of weight 1, whose text is kept if it
    /// opens the breaker; a panic counts as one.
    ///
    /// # Errors
    /// [`ServiceError::Rejected`] when the operation was not run, or its own error.
    pub fn call<V, E: fmt::Display>(
        &self,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        self.call_with(&AnyError, operation)
    }

    /// [`call`](Self::call) with somebody else who [reports](Report) the result.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_with<'a, V, E, K: Report<V, E>>(
        &'a self,
        report: &K,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<K::Output<ResourcePermit<&'a Self>>, ServiceError<E>> {
        let mut permit = Some(self.acquire().map_err(ServiceError::Rejected)?);
        let result = count_panic(&mut permit, operation);
        match permit {
            Some(permit) => report.report(permit, result).map_err(ServiceError::Failed),
            None => unreachable!("the permit of a call that returned"),
        }
    }

    /// [`call`](Self::call) for futures, by any runtime or none. Dropping the future cancels; a time limit belongs
    /// inside. With somebody else who reports: [`call_reported`](crate::call_reported).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async<V, E, F>(
        &self,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        E: fmt::Display,
        F: Future<Output = Result<V, E>>,
    {
        call_reported(self, &AnyError, operation).await
    }
}

impl<B: AnyBreaker> AnyBreaker for Resource<B> {
    type Clock = B::Clock;
    type Word = B::Word;
    type Tally = B::Tally;
    type Observer = B::Observer;
    type Rules = B::Rules;

    fn as_breaker(
        &self,
    ) -> &Breaker<Self::Clock, Self::Word, Self::Tally, Self::Observer, Self::Rules> {
        self.breaker.as_breaker()
    }
}

/// What leads to a [`Resource`], always the same one: a reference or an `Arc`.
pub trait AnyResource: AnyBreaker {
    /// The failure that opened it last.
    fn last_failure(&self) -> &LastFailureCell;

    /// The share of rejections that are enforced.
    fn enforcement(&self) -> &Enforcement;
}

impl<B: AnyBreaker> AnyResource for Resource<B> {
    fn last_failure(&self) -> &LastFailureCell {
        &self.last_failure
    }

    fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }
}

macro_rules! forward_resource {
    ($($pointer:ty),*) => {$(
        impl<R: AnyResource> AnyResource for $pointer {
            fn last_failure(&self) -> &LastFailureCell {
                (**self).last_failure()
            }

            fn enforcement(&self) -> &Enforcement {
                (**self).enforcement()
            }
        }
    )*};
}

forward_resource!(&R, Arc<R>);

/// The right to one call of a [`Resource`]. Dropping it cancels. `H` leads to the resource: a reference or an
/// `Arc`.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct ResourcePermit<H: AnyResource> {
    handle: H,
    /// None once it is reported, and where the call passes although it should have been rejected.
    token: Option<Token<BitsOf<H>>>,
    is_probe: bool,
}

impl<H: AnyResource> ResourcePermit<H> {
    /// Asks for the right to one call.
    ///
    /// # Errors
    /// [`Rejection`] says how long to wait, and why it opened.
    #[inline]
    pub fn acquire(handle: H) -> Result<Self, Rejection> {
        let admitted = handle.as_breaker().acquire();
        let admitted = admitted.map(|permit| (permit.is_probe(), permit.into_token()));
        match admitted {
            Ok((is_probe, token)) => Ok(Self {
                handle,
                token: Some(token),
                is_probe,
            }),
            Err(rejected) => Self::reject(handle, rejected),
        }
    }

    #[cold]
    fn reject(handle: H, rejected: Rejected) -> Result<Self, Rejection> {
        let clock = handle.as_breaker().clock();
        if handle.enforcement().is_enforced(|| clock.random()) {
            return Err(Rejection {
                rejected,
                last_failure: handle.last_failure().get(),
                failed_tries: 0,
            });
        }
        Ok(Self {
            handle,
            token: None,
            is_probe: false,
        })
    }

    /// Ends the permit without a report, as dropping it does.
    pub fn cancel(self) {
        drop(self);
    }
}

impl<H: AnyResource> AnyPermit for ResourcePermit<H> {
    /// A breaker that opens without words about the failure keeps none: those of an earlier one would be
    /// wrong.
    #[inline]
    fn report(mut self, outcome: Outcome) -> Option<Transition> {
        let token = self.token.take()?;
        let made = self.handle.as_breaker().resume(token).report(outcome)?;
        if made.to == State::Open {
            self.handle.last_failure().set_for(&made, None);
        }
        Some(made)
    }

    #[inline]
    fn report_because(
        mut self,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        let token = self.token.take()?;
        let made = self.handle.as_breaker().resume(token).report(outcome)?;
        if made.to == State::Open {
            self.handle.last_failure().set_for(&made, Some(why()));
        }
        Some(made)
    }

    fn is_probe(&self) -> bool {
        self.is_probe
    }

    fn is_admitted(&self) -> bool {
        self.token.is_some()
    }

    /// A call that passes in shadow mode is asked about again each time, as the mode may have changed.
    fn renew(&mut self) -> bool {
        let Some(token) = self.token.take() else {
            return false;
        };
        let mut permit = self.handle.as_breaker().resume(token);
        let is_current = permit.renew();
        self.token = Some(permit.into_token());
        is_current
    }
}

impl<H: AnyResource> Drop for ResourcePermit<H> {
    #[inline]
    fn drop(&mut self) {
        let Some(token) = self.token.take() else {
            return;
        };
        // One that hung until somebody lost patience may open it.
        let made = self.handle.as_breaker().resume(token).cancel();
        if let Some(made) = made.filter(|made| made.to == State::Open) {
            let failure = "a call hung until it was cancelled";
            self.handle
                .last_failure()
                .set_for(&made, Some(failure.to_owned()));
        }
    }
}

impl<H: AnyResource> fmt::Debug for ResourcePermit<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourcePermit")
            .field("is_probe", &self.is_probe)
            .field("is_admitted", &self.is_admitted())
            .finish_non_exhaustive()
    }
}

macro_rules! admit_by_resource {
    ($($(#[$meta:meta])* $handle:ty),*) => {$(
        impl<Q: ?Sized, B: AnyBreaker> Admit<Q> for $handle {
            type Permit = ResourcePermit<Self>;

            #[inline]
            fn admit(&self, _: &Q) -> Result<Self::Permit, Rejection> {
                ResourcePermit::acquire(self.clone())
            }
        }
    )*};
}

admit_by_resource!(&Resource<B>, Arc<Resource<B>>);
