//! gRPC, reported at the headers.

use std::fmt;

use crate::{
    AnyPermit, Classify, ErrorRule, EveryError, GrpcClassifier, Outcome, Report, ResponseHead,
};

/// [`GrpcClassifier`] without the body: a call whose status is not in its headers counts as a success.
/// Made by [`GrpcClassifier::at_head`].
///
/// ```
/// use atomic_breaker_http::{Breaker, Config, GrpcAtHead, GrpcClassifier, breaker};
/// use http::Response;
/// use std::convert::Infallible;
///
/// static GRPC: GrpcAtHead = GrpcClassifier::new().at_head();
/// static SERVER: Breaker = breaker(Config::new());
///
/// let response = Response::builder().header("grpc-status", "14").body(())?;
/// let _ = SERVER.call_with(GRPC, || Ok::<_, Infallible>(response));
/// assert_eq!(SERVER.snapshot().failures(), 1);
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct GrpcAtHead<X = EveryError, Y = EveryError>(pub(super) GrpcClassifier<X, Y>);

impl<T: ResponseHead, E, X: ErrorRule<E>, Y> Classify<T, E> for GrpcAtHead<X, Y> {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self.0.at_head_of(result).unwrap_or(Outcome::Success)
    }
}

impl<T, E, X, Y> Report<T, E> for GrpcAtHead<X, Y>
where
    T: ResponseHead,
    E: fmt::Display,
    X: ErrorRule<E>,
{
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        self.0.report_head(permit, &result, Outcome::Success);
        result
    }
}
