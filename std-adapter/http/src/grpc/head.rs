//! gRPC, reported at the headers.

use std::fmt;

use super::classifier::GrpcClassifier;
use super::rules::{CodeRule, UsualCodes};
use crate::scope::report_result;
use crate::{AnyPermit, Classify, ErrorRule, EveryError, Outcome, Report, ResponseHead};

/// [`GrpcClassifier`] without the body: a call whose status is not in its headers counts as a success.
/// Made by [`GrpcClassifier::at_head`].
///
/// ```
/// use atomic_breaker_http::{Breaker, Config, Failure, GrpcAtHead, GrpcClassifier, breaker};
/// use http::Response;
/// use std::convert::Infallible;
///
/// static GRPC: GrpcAtHead = GrpcClassifier::new().at_head();
/// static SERVER: Breaker = breaker(Config::new());
///
/// let response = Response::builder().header("grpc-status", "14").body(())?;
/// let _ = SERVER.call_with(GRPC, || Ok::<_, Infallible>(response));
/// assert_eq!(SERVER.snapshot().failures(), 1);
/// # let _ = Failure::new();
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct GrpcAtHead<S = UsualCodes, X = EveryError, Y = EveryError>(
    pub(super) GrpcClassifier<S, X, Y>,
);

impl<T, E, S, X, Y> Classify<T, E> for GrpcAtHead<S, X, Y>
where
    T: ResponseHead,
    S: CodeRule,
    X: ErrorRule<E>,
{
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self.0.at_head_of(result).unwrap_or(Outcome::Success)
    }
}

impl<T, E, S, X, Y> Report<T, E> for GrpcAtHead<S, X, Y>
where
    T: ResponseHead,
    E: fmt::Display,
    S: CodeRule,
    X: ErrorRule<E>,
{
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        let why = || self.0.why(&result);
        let outcome = || self.classify(&result);
        report_result(permit, &result, &self.0.errors, outcome, why);
        result
    }
}

impl<S, X, Y> fmt::Debug for GrpcAtHead<S, X, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GrpcAtHead").field(&self.0).finish()
    }
}
