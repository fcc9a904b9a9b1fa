//! A call whose permit may outlive it.

use std::future::poll_fn;
use std::pin::pin;

use atomic_breaker::Failure;

use super::{Admit, AnyPermit, Report, ServiceError};
use crate::on_drop::OnDrop;

/// Makes a call that ends with a [report](Report), which may take the permit along, as the body of a response does.
/// [`call_async_with`](atomic_breaker::Breaker::call_async_with) cannot do this, because it has already reported when
/// it returns.
///
/// The handle leads to the breaker or the `Resource`: an `Arc`, or a reference to a `static`, if the
/// returned value is to be passed on. Dropping the future cancels the call.
///
/// ```
/// use atomic_breaker_server::{AnyError, Breaker, Config, ServiceError, breaker, call_reported};
/// use std::sync::Arc;
///
/// async fn call(server: &Arc<Breaker>) -> Result<u8, ServiceError<&'static str>> {
///     // In the place of `AnyError`: `HttpClassifier::new().at_end_of_body()`.
///     call_reported(Arc::clone(server), &AnyError, || async { Ok(7) }).await
/// }
/// # let _ = call(&Arc::new(breaker(Config::new())));
/// ```
pub async fn call_reported<H, R, T, E, F>(
    handle: H,
    report: &R,
    operation: impl FnOnce() -> F,
) -> Result<R::Output<H::Permit>, ServiceError<E>>
where
    H: Admit<()>,
    R: Report<T, E>,
    F: Future<Output = Result<T, E>>,
{
    let permit = handle.admit(&())?;
    run_async(permit, report, operation).await
}

/// Runs an operation with its permit, and reports how it ended.
pub fn run<P, R, T, E>(
    permit: P,
    report: &R,
    operation: impl FnOnce() -> Result<T, E>,
) -> Result<R::Output<P>, ServiceError<E>>
where
    P: AnyPermit,
    R: Report<T, E>,
{
    let mut permit = Some(permit);
    let result = count_panic(&mut permit, operation);
    end(permit, report, result)
}

/// [`run`] for futures.
pub async fn run_async<P, R, T, E, F>(
    permit: P,
    report: &R,
    operation: impl FnOnce() -> F,
) -> Result<R::Output<P>, ServiceError<E>>
where
    P: AnyPermit,
    R: Report<T, E>,
    F: Future<Output = Result<T, E>>,
{
    let mut permit = Some(permit);
    let mut future = pin!(count_panic(&mut permit, operation));
    let result =
        poll_fn(|context| count_panic(&mut permit, || future.as_mut().poll(context))).await;
    end(permit, report, result)
}

fn end<P, R, T, E>(
    permit: Option<P>,
    report: &R,
    result: Result<T, E>,
) -> Result<R::Output<P>, ServiceError<E>>
where
    P: AnyPermit,
    R: Report<T, E>,
{
    let permit = permit.expect("taken by a panic alone");
    report.report(permit, result).map_err(ServiceError::Failed)
}

/// Returns the permit of a finished call and the verdict on it; if `judge` panics, the call has failed.
///
/// # Panics
/// If `judge` does.
#[inline]
pub fn judged<V, P: AnyPermit>(permit: P, judge: impl FnOnce() -> V) -> (P, V) {
    let mut permit = Some(permit);
    let verdict = count_panic(&mut permit, judge);
    (permit.expect("taken by a panic alone"), verdict)
}

/// Runs `operation`; if it panics, the call has failed.
pub fn count_panic<V, P: AnyPermit>(permit: &mut Option<P>, operation: impl FnOnce() -> V) -> V {
    let unwinding = OnDrop::new(|| {
        if let Some(permit) = permit.take() {
            permit.report_because(Failure::new().into(), || "panicked".to_owned());
        }
    });
    let value = operation();
    unwinding.disarm();
    value
}
