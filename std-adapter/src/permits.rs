//! Permits of whatever breaker, and who reports them.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;

use atomic_breaker::{
    AnyBreaker, AnyError, CallError, Classify, Failure, Outcome, Permit, Transition,
};

/// The right to one call of whatever breaker: one that stands alone or one of a registry. Dropping it
/// cancels.
pub trait AnyPermit {
    /// The call ended. Answers the transition that this made.
    fn report(self, outcome: Outcome) -> Option<Transition>;

    /// Whether this call is a probe.
    fn is_probe(&self) -> bool;
}

impl<H: AnyBreaker> AnyPermit for Permit<H> {
    fn report(self, outcome: Outcome) -> Option<Transition> {
        Self::report(self, outcome)
    }

    fn is_probe(&self) -> bool {
        Self::is_probe(self)
    }
}

/// Ends a permit by the result of its call: at once, as classifiers do, or when more is known, as at the
/// end of a body, which then takes the permit along.
///
/// Closures, [`AnyError`] and the classifiers of this crate are reports. A [classifier](Classify) of
/// yours is one within [`AtOnce`]. (Not by itself: were every classifier one, none could be written that
/// waits for a body, as anybody might make it a classifier as well.)
///
/// ```
/// use atomic_breaker_std::{AnyError, Config, Outcome, Report, breaker};
///
/// let server = breaker(Config::new());
/// let result: Result<u8, &str> = AnyError.report(server.acquire()?, Err("timed out"));
/// assert_eq!((result, server.snapshot().failures()), (Err("timed out"), 1));
///
/// let ignore = |_: &Result<u8, &str>| Outcome::Ignored;
/// let _ = ignore.report(server.acquire()?, Err("timed out"));
/// assert_eq!(server.snapshot().failures(), 1);
/// # Ok::<(), atomic_breaker_std::Rejected>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not report calls that end with `Result<{T}, {E}>`",
    note = "a classifier of yours does within `AtOnce(..)`, or write `|result: &Result<{T}, {E}>| -> Outcome {{ .. }}`"
)]
pub trait Report<T, E> {
    /// The result's value, with the permit in it if it is not reported yet.
    type Output<P: AnyPermit>;

    /// Reports the permit, or hands it on.
    ///
    /// # Errors
    /// The error of the result, unchanged.
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E>;
}

/// Reports by a [classifier](Classify), as soon as there is a result.
///
/// ```
/// use atomic_breaker_std::{AtOnce, Classify, Config, Failure, Outcome, Report, breaker};
///
/// /// A classifier that has to be kept by name.
/// struct Weighing(u16);
///
/// impl<T, E> Classify<T, E> for Weighing {
///     fn classify(&self, result: &Result<T, E>) -> Outcome {
///         match result {
///             Ok(_) => Outcome::Success,
///             Err(_) => Failure::with_weight(self.0).into(),
///         }
///     }
/// }
///
/// let server = breaker(Config::new());
/// let _ = AtOnce(Weighing(3)).report(server.acquire()?, Err::<(), _>("refused"));
/// assert_eq!(server.snapshot().failures(), 3);
/// # Ok::<(), atomic_breaker_std::Rejected>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce<C>(pub C);

impl<T, E, C: Classify<T, E>> Report<T, E> for AtOnce<C> {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        at_once(&self.0, permit, result)
    }
}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome> Report<T, E> for F {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        at_once(self, permit, result)
    }
}

impl<T, E> Report<T, E> for AnyError {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        at_once(self, permit, result)
    }
}

/// The report of whatever is a classifier.
pub(crate) fn at_once<T, E, P: AnyPermit>(
    classifier: &impl Classify<T, E>,
    permit: P,
    result: Result<T, E>,
) -> Result<T, E> {
    permit.report(classifier.classify(&result));
    result
}

/// A call that ends by a [report](Report), which may take its permit along, as the body of a response
/// does. For what [`call_async_with`](atomic_breaker::Breaker::call_async_with) cannot do, as it has
/// reported when it returns.
///
/// The handle leads to the breaker: an `Arc`, or a reference to a `static`, if what comes back is to be
/// handed on. Dropping the future cancels.
///
/// # Errors
/// [`CallError::Rejected`] without a call, [`CallError::Failed`] with the error of the call.
///
/// ```
/// use atomic_breaker_std::{AnyError, Breaker, CallError, Config, breaker, call_reported};
/// use std::sync::Arc;
///
/// async fn call(server: &Arc<Breaker>) -> Result<u8, CallError<&'static str>> {
///     // In the place of `AnyError`: `HttpClassifier::new().at_end_of_body()`.
///     call_reported(Arc::clone(server), &AnyError, || async { Ok(7) }).await
/// }
/// # let _ = call(&Arc::new(breaker(Config::new())));
/// ```
pub async fn call_reported<H, R, T, E, F>(
    breaker: H,
    report: &R,
    operation: impl FnOnce() -> F,
) -> Result<R::Output<Permit<H>>, CallError<E>>
where
    H: AnyBreaker,
    R: Report<T, E>,
    F: Future<Output = Result<T, E>>,
{
    let mut permit = Some(Permit::acquire(breaker)?);
    let mut future = pin!(count_panic(&mut permit, operation));
    let result =
        poll_fn(|context| count_panic(&mut permit, || future.as_mut().poll(context))).await;
    // Not missing: it is taken by a panic, which does not come here.
    match permit {
        Some(permit) => report.report(permit, result).map_err(CallError::Failed),
        None => unreachable!("the permit of a call that returned"),
    }
}

/// Runs `operation`; if it panics, the call has failed.
fn count_panic<V, P: AnyPermit>(permit: &mut Option<P>, operation: impl FnOnce() -> V) -> V {
    struct Unwinding<'a, P: AnyPermit>(&'a mut Option<P>);
    impl<P: AnyPermit> Drop for Unwinding<'_, P> {
        fn drop(&mut self) {
            if let Some(permit) = self.0.take() {
                permit.report(Failure::new().into());
            }
        }
    }
    let guard = Unwinding(permit);
    let value = operation();
    mem::forget(guard);
    value
}
