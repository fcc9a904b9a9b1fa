//! The layer around a breaker.

use std::mem;
use std::task::{Context, Poll};

use atomic_breaker::Classify;
use tower_layer::Layer;
use tower_service::Service;

use super::{AnyBudget, Idempotent, RetryFuture, RetryHint, RetryPolicy};
use crate::ServiceError;

/// Repeats requests as a [`RetryPolicy`] says. Goes directly above a [`BreakerLayer`](crate::BreakerLayer).
///
/// Not tower's layer of this name: that one drops the response of a try before it knows whether the next one will be
/// made, so a caller whose retry is rejected would lose what the host had said.
#[derive(Clone, Copy, Debug)]
pub struct RetryLayer<P> {
    policy: P,
}

impl<P> RetryLayer<P> {
    /// A layer that follows a policy.
    pub const fn new(policy: P) -> Self {
        Self { policy }
    }
}

impl<S, P: Clone> Layer<S> for RetryLayer<P> {
    type Service = RetryService<S, P>;

    fn layer(&self, inner: S) -> Self::Service {
        RetryService {
            inner,
            policy: self.policy.clone(),
        }
    }
}

/// The service of a [`RetryLayer`].
#[derive(Clone, Copy, Debug)]
pub struct RetryService<S, P> {
    inner: S,
    policy: P,
}

impl<S, P> RetryService<S, P> {
    inner_service!();
}

impl<S, Q, E, B, I, C, H> Service<Q> for RetryService<S, RetryPolicy<B, I, C, H>>
where
    S: Service<Q, Error = ServiceError<E>> + Clone,
    Q: Clone,
    B: AnyBudget<Q> + Clone,
    I: Idempotent<Q> + Clone,
    C: Classify<S::Response, E> + Clone,
    H: RetryHint<S::Response, E> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RetryFuture<S, Q, B, I, C, H>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        // The service that is ready is the one called.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        RetryFuture::new(ready, self.policy.clone(), request)
    }
}
