//! The time limit of a request, all tries and pauses together.

use std::task::{Context, Poll};
use std::time::Duration;

use http::Request;
use tower::util::Oneshot;
use tower_service::Service;

use crate::{Deadline, TimeLimitFuture, Timed};

/// Ends a request at the deadline of all requests, or at [its own](Deadline) if that is sooner.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineService<S> {
    inner: S,
    /// The deadline of all requests.
    deadline: Duration,
}

impl<S> DeadlineService<S> {
    pub(super) const fn new(inner: S, deadline: Duration) -> Self {
        Self { inner, deadline }
    }
}

impl<S, B> Service<Request<B>> for DeadlineService<S>
where
    S: Service<Request<B>> + Clone,
{
    type Response = S::Response;
    type Error = Timed<S::Error>;
    type Future = TimeLimitFuture<Oneshot<S, Request<B>>>;

    /// Always ready: the service's readiness is awaited within the time limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let own = request.extensions().get();
        let time = own.map_or(self.deadline, |&Deadline(own)| own.min(self.deadline));
        if time.is_zero() {
            return TimeLimitFuture::expired();
        }
        TimeLimitFuture::new(time, Oneshot::new(self.inner.clone(), request))
    }
}
