//! The guarded call.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::resource::{AnyPermit, Rejection, Report, ServiceError, count_panic};

pin_project! {
    /// The future of a [`BreakerService`](super::BreakerService) or a `GateService`. Dropping it cancels
    /// the call; a panic in it counts as a failure.
    ///
    /// # Panics
    /// When it is polled again after it was ready.
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
        Done,
    }
}

impl<F, P, C> ResponseFuture<F, P, C> {
    /// With a permit; none is what a panic leaves behind.
    pub(super) const fn running(call: F, permit: Option<P>, report: C) -> Self {
        Self {
            state: State::Running {
                call,
                permit,
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
        let mut state = self.project().state;
        let answer = match state.as_mut().project() {
            Projected::Running {
                call,
                permit,
                report,
            } => {
                let result = ready!(count_panic(permit, || call.poll(context)));
                match permit.take() {
                    Some(permit) => report.report(permit, result).map_err(ServiceError::Failed),
                    None => panic!("polled after a panic"),
                }
            }
            Projected::Rejected { rejection } => match rejection.take() {
                Some(rejection) => Err(ServiceError::Rejected(rejection)),
                None => panic!("polled after it was ready"),
            },
            Projected::Done => panic!("polled after it was ready"),
        };
        // What the call holds, a connection perhaps, is free before the caller goes on.
        state.set(State::Done);
        Poll::Ready(answer)
    }
}

impl<F, P, C> fmt::Debug for ResponseFuture<F, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
