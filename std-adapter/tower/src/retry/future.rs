//! One request with its tries.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use atomic_breaker::Classify;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

use super::course::{Course, Next};
use super::{AnyBudget, Idempotent, RetryHint, RetryPolicy};
use crate::ServiceError;

pin_project! {
    /// The future of a [`RetryService`](super::RetryService). If it is dropped in a pause, the token of the retry that
    /// is not made goes back to the budget.
    ///
    /// # Panics
    /// When it is polled again after it has completed.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<S, Q, B, I, C, H>
    where
        S: Service<Q>,
        B: AnyBudget<Q>,
    {
        #[pin]
        state: State<S::Future>,
        service: S,
        course: Course<Q, B, I, C, H, Result<S::Response, S::Error>>,
    }
}

pin_project! {
    #[project = Projected]
    enum State<F> {
        Called { #[pin] call: F },
        Pausing { #[pin] sleep: Sleep },
        BecomingReady,
        Over,
    }
}

impl<S, Q, B, I, C, H> RetryFuture<S, Q, B, I, C, H>
where
    S: Service<Q>,
    Q: Clone,
    B: AnyBudget<Q>,
    I: Idempotent<Q>,
{
    pub(super) fn new(mut ready: S, policy: RetryPolicy<B, I, C, H>, request: Q) -> Self {
        let course = Course::begin(policy, &request);
        Self {
            state: State::Called {
                call: ready.call(request),
            },
            service: ready,
            course,
        }
    }
}

impl<S, Q, E, B, I, C, H> Future for RetryFuture<S, Q, B, I, C, H>
where
    S: Service<Q, Error = ServiceError<E>>,
    Q: Clone,
    B: AnyBudget<Q>,
    C: Classify<S::Response, E>,
    H: RetryHint<S::Response, E>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let result = match this.state.as_mut().project() {
                Projected::Called { call } => match call.poll(context) {
                    Poll::Ready(result) => result,
                    Poll::Pending => {
                        // A rejection is never pending.
                        this.course.is_under_way();
                        return Poll::Pending;
                    }
                },
                Projected::Pausing { sleep } => {
                    ready!(sleep.poll(context));
                    this.state.set(State::BecomingReady);
                    continue;
                }
                Projected::BecomingReady => match ready!(this.service.poll_ready(context)) {
                    Ok(()) => {
                        let call = this.service.call(this.course.request());
                        this.state.set(State::Called { call });
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Projected::Over => panic!("polled after it was ready"),
            };
            // Frees what the call holds, perhaps a connection, before the caller continues.
            this.state.set(State::Over);
            match this.course.after(result) {
                Next::Return(result) => return Poll::Ready(result),
                Next::Pause(time) => this.state.set(State::Pausing { sleep: sleep(time) }),
            }
        }
    }
}

impl<S: Service<Q>, Q, B: AnyBudget<Q>, I, C, H> fmt::Debug for RetryFuture<S, Q, B, I, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}
