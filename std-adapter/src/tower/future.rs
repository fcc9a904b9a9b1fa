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
        call: Call<F>,
        // Beside the call, so that neither is moved when it is over. None if it was rejected, or panicked.
        permit: Option<P>,
        report: C,
    }
}

pin_project! {
    #[project = Projected]
    enum Call<F> {
        Running { #[pin] call: F },
        Rejected { rejection: Option<Rejection> },
        Over,
    }
}

impl<F, P, C> ResponseFuture<F, P, C> {
    #[inline]
    pub(super) const fn running(call: F, permit: Option<P>, report: C) -> Self {
        Self {
            call: Call::Running { call },
            permit,
            report,
        }
    }

    #[inline]
    pub(super) const fn rejected(rejection: Rejection, report: C) -> Self {
        Self {
            call: Call::Rejected {
                rejection: Some(rejection),
            },
            permit: None,
            report,
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

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let result = match this.call.as_mut().project() {
            Projected::Running { call } => ready!(count_panic(this.permit, || call.poll(context))),
            Projected::Rejected { rejection } => {
                let rejection = rejection.take().expect("polled after it was ready");
                return Poll::Ready(Err(ServiceError::Rejected(rejection)));
            }
            Projected::Over => panic!("polled after it was ready"),
        };
        // What the call holds, a connection perhaps, is free before the caller goes on.
        count_panic(this.permit, || this.call.set(Call::Over));
        let permit = this.permit.take().expect("polled after a panic");
        Poll::Ready(
            this.report
                .report(permit, result)
                .map_err(ServiceError::Failed),
        )
    }
}

impl<F, P, C> fmt::Debug for ResponseFuture<F, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
