//! Who ends a permit by the response of its call.

use std::fmt::Display;

use atomic_breaker::{AnyError, Classify, Outcome};

use super::AnyPermit;

/// Ends a permit by the result of its call: at once, or when more is known, as at the end of a body, which
/// then takes the permit along.
///
/// [`AnyError`] takes every `Err` for a failure; [`ByOutcome`] asks a [classifier](Classify); the feature
/// `http` has reporters that know HTTP and gRPC.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot report results of type `Result<{T}, {E}>`",
    note = "`AnyError` needs an error that can be displayed; give the layer a classifier by `.classify(|result| ..)`"
)]
pub trait Report<T, E> {
    /// The value of the result, with the permit in it if it is not reported yet.
    type Output<P: AnyPermit>;

    /// Reports the permit, or hands it on.
    ///
    /// # Errors
    /// The error of the result, unchanged.
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E>;
}

/// Every `Err` is a failure of weight 1; the text of the error is kept as the last failure.
impl<T, E: Display> Report<T, E> for AnyError {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        let outcome = self.classify(&result);
        permit.report_because(outcome, || match &result {
            Ok(_) => "too slow".to_owned(),
            Err(error) => error.to_string(),
        });
        result
    }
}

/// Reports what a [classifier](Classify) says, at once.
///
/// ```
/// use atomic_breaker_std::{AnyPermit, ByOutcome, Config, Failure, Outcome, Permit, Report, breaker};
///
/// let server = breaker(Config::new());
/// let by_code = ByOutcome(|result: &Result<u16, ()>| match result {
///     Ok(code) if *code < 500 => Outcome::Success,
///     _ => Failure::new().into(),
/// });
/// let _ = by_code.report(Permit::acquire(&server)?, Ok(503));
/// assert_eq!(server.snapshot().failures(), 1);
/// # fn any(_: impl AnyPermit) {}
/// # any(Permit::acquire(&server)?);
/// # Ok::<(), atomic_breaker_std::Rejected>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByOutcome<C>(pub C);

impl<T, E, C: Classify<T, E>> Report<T, E> for ByOutcome<C> {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        let outcome: Outcome = self.0.classify(&result);
        permit.report(outcome);
        result
    }
}
