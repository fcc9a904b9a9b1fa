//! The guarded call.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use atomic_breaker::Outcome;
use pin_project_lite::pin_project;

use crate::parts::count_panic;
use crate::{AnyPermit, Rejection, Report, ServiceError};

pin_project! {
    /// The future of a [`BreakerService`](crate::BreakerService) or a [`GateService`](crate::GateService). Dropping it cancels the call, or
    /// reports nothing if the call had not begun; a panic in it counts as a failure.
    ///
    /// # Panics
    /// When it is polled again after it has completed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, P, C>
    where
        P: AnyPermit,
    {
        #[pin]
        call: Call<F>,
        // Next to the call, so that neither moves when it is over. `None` if it was rejected or panicked.
        permit: Option<P>,
        report: C,
    }

    impl<F, P, C> PinnedDrop for ResponseFuture<F, P, C>
    where
        P: AnyPermit,
    {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Projected::Running { is_begun: false, .. } = this.call.project() {
                // Nothing was called: no report, however long the permit was kept.
                if let Some(permit) = this.permit.take() {
                    permit.report(Outcome::Ignored);
                }
            }
        }
    }
}

pin_project! {
    #[project = Projected]
    enum Call<F> {
        // The flag is here, where it takes no space.
        Running { #[pin] call: F, is_begun: bool },
        Rejected { rejection: Option<Rejection> },
        Over,
    }
}

impl<F, P: AnyPermit, C> ResponseFuture<F, P, C> {
    /// A call that has begun, or else begins with the first poll.
    #[inline]
    pub(super) const fn new(call: F, is_begun: bool, permit: P, report: C) -> Self {
        Self {
            call: Call::Running { call, is_begun },
            permit: Some(permit),
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
            Projected::Running { call, is_begun } => {
                *is_begun = true;
                ready!(count_panic(this.permit, || call.poll(context)))
            }
            Projected::Rejected { rejection } => {
                let rejection = rejection.take().expect("polled after it was ready");
                return Poll::Ready(Err(ServiceError::Rejected(rejection)));
            }
            Projected::Over => panic!("polled after it was ready"),
        };
        // Frees what the call holds, perhaps a connection, before the caller continues.
        count_panic(this.permit, || this.call.set(Call::Over));
        let permit = this.permit.take().expect("polled after a panic");
        Poll::Ready(
            this.report
                .report(permit, result)
                .map_err(ServiceError::Failed),
        )
    }
}

impl<F, P: AnyPermit, C> fmt::Debug for ResponseFuture<F, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
