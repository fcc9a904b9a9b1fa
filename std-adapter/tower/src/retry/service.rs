// SPDX-License-Identifier: MIT OR Apache-2.0
//! A request with its tries.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_layer::Layer;
use tower_service::Service;

use super::course::{Course, Next};
use super::observed::ObserveRetries;
use super::{BudgetOf, RetryLayer, RetryPolicy};
use crate::ServiceError;

impl<S, B: Clone, P: Clone, O: Clone> Layer<S> for RetryLayer<B, P, O> {
    type Service = RetryService<S, B, P, O>;

    fn layer(&self, inner: S) -> Self::Service {
        RetryService {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of a [`RetryLayer`].
#[derive(Clone, Copy, Debug)]
pub struct RetryService<S, B, P, O = ()> {
    inner: S,
    layer: RetryLayer<B, P, O>,
}

impl<S, B, P, O> RetryService<S, B, P, O> {
    inner_service!();
}

impl<S, Q, E, B, P, O> Service<Q> for RetryService<S, B, P, O>
where
    S: Service<Q, Error = ServiceError<E>> + Clone,
    Q: Clone,
    B: BudgetOf<Q> + Clone,
    P: RetryPolicy<Q, S::Response, E> + Clone,
    O: ObserveRetries<Q> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RetryFuture<S, Q, B, P, O>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        // The service that is ready is the one called.
        let clone = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, clone);
        let mut course = Course::begin(self.layer.clone(), &request);
        let call = course.call(&mut ready, request);
        RetryFuture {
            state: State::Called { call },
            service: ready,
            course,
        }
    }
}

pin_project! {
    /// The future of a [`RetryService`]. If it is dropped in a pause, the token of the retry that
    /// is not made goes back to the budget.
    ///
    /// # Panics
    /// When it is polled again after it has completed.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<S, Q, B, P, O = ()>
    where
        S: Service<Q>,
        B: BudgetOf<Q>,
        O: ObserveRetries<Q>,
    {
        #[pin]
        state: State<S::Future>,
        service: S,
        course: Course<Q, B, P, Result<S::Response, S::Error>, O>,
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

impl<S, Q, E, B, P, O> Future for RetryFuture<S, Q, B, P, O>
where
    S: Service<Q, Error = ServiceError<E>>,
    Q: Clone,
    B: BudgetOf<Q>,
    P: RetryPolicy<Q, S::Response, E>,
    O: ObserveRetries<Q>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let result = match this.state.as_mut().project() {
                Projected::Called { call } => ready!(this.course.poll(|| call.poll(context))),
                Projected::Pausing { sleep } => {
                    ready!(sleep.poll(context));
                    this.state.set(State::BecomingReady);
                    continue;
                }
                Projected::BecomingReady => match ready!(this.service.poll_ready(context)) {
                    Ok(()) => {
                        let request = this.course.request();
                        let call = this.course.call(this.service, request);
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

impl<S, Q, B, P, O> fmt::Debug for RetryFuture<S, Q, B, P, O>
where
    S: Service<Q>,
    B: BudgetOf<Q>,
    O: ObserveRetries<Q>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}
