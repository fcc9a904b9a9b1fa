//! gRPC, judged by its headers and trailers alone.

mod classifier;
mod code;
mod deadline;
mod head;

pub use classifier::{GrpcBodyRule, GrpcClassifier};
pub use code::GrpcCode;
pub use deadline::{GrpcDeadlineBody, GrpcDeadlineFuture, GrpcDeadlineLayer, GrpcDeadlineService};

use std::fmt;

use crate::{AnyError, AnyPermit, Classify, ErrorRule, Outcome, Report, ResponseHead};

/// [`GrpcClassifier`] without the body: a call whose status is not in its headers counts as a success.
/// Made by [`GrpcClassifier::at_head`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct GrpcAtHead<X = AnyError, Y = AnyError>(GrpcClassifier<X, Y>);

impl<T: ResponseHead, E, X: ErrorRule<E>, Y> Classify<T, E> for GrpcAtHead<X, Y> {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        let at_head = self.0.at_head_of(result);
        at_head.map_or(Outcome::Success, |(outcome, _)| outcome)
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
