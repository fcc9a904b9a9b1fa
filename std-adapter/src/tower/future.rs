//! The guarded call.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::resource::{AnyPermit, Rejection, Report, ServiceError, count_panic};

pin_project! {
    /// The future of a [`BreakerService`](super::BreakerService). Dropping it cancels the call.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, P, C> {
        #[pin]
        state: State<F, P, C>,
    }
}

pin_project! {
    #[project = Projected]
    enum State<F, P, C> {
        Running { #[pin] call: F, permit: Option<P>, report: C },
        Rejected { rejection: Option<Rejection> },
    }
}

impl<F, P, C> ResponseFuture<F, P, C> {
    pub(super) const fn running(call: F, permit: P, report: C) -> Self {
        Self {
            state: State::Running {
                call,
                permit: Some(permit),
                report,
            },
        }
    }

    pub(super) const fn rejected(rejection: Rejection) -> Self {
        Self {
            state: State::Rejected {
                rejection: Some(rejection),
            },
        }
    }
}

impl<F, P, C, T, E> Future for ResponseFuture<F, P, C>
where
    F: Future<Output = Result<T, E>>,
    P: AnyPermit,
    C: Report<T, E>,
{
    type Output = Result<C::Output<P>, ServiceError<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            Projected::Running {
                call,
                permit,
                report,
            } => {
                let result = ready!(count_panic(permit, || call.poll(context)));
                let Some(permit) = permit.take() else {
                    panic!("polled after it was ready");
                };
                Poll::Ready(report.report(permit, result).map_err(ServiceError::Failed))
            }
            Projected::Rejected { rejection } => match rejection.take() {
                Some(rejection) => Poll::Ready(Err(ServiceError::Rejected(rejection))),
                None => panic!("polled after it was ready"),
            },
        }
    }
}

impl<F, P, C> fmt::Debug for ResponseFuture<F, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
