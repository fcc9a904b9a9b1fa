// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit of one try, and of one that is a probe.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Timeout, timeout};
use tower_layer::Layer;
use tower_service::Service;

use crate::ready_call::ReadyCall;
use crate::{AnyPermit, Timed};

/// The time limit of a try, and of one that is a probe: the caller of a probe of a service that hangs should not wait
/// as long as one of a service that works.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryLimits {
    of_try: Duration,
    of_first_probe: Option<Duration>,
}

impl TryLimits {
    /// Probes have the limit of any other try.
    pub const fn new(of_try: Duration) -> Self {
        Self {
            of_try,
            of_first_probe: None,
        }
    }

    /// Sets another limit of a try, for the same probes.
    #[must_use]
    pub const fn other_tries(mut self, limit: Duration) -> Self {
        self.of_try = limit;
        self
    }

    /// The limit of the first probe after a trip; `None` for that of a try.
    #[must_use]
    pub const fn first_probe(mut self, limit: Option<Duration>) -> Self {
        self.of_first_probe = limit;
        self
    }

    /// The limit of a try that is no probe.
    pub const fn of_try(&self) -> Duration {
        self.of_try
    }

    /// The limit of a try with this permit. It doubles with each probe that fails, and the fourth in a row has that of any
    /// other try: so a service that is healthy, but takes longer than the first, is served again.
    ///
    /// `slow` is asked for the time after which an answer counts as a failure anyway: a probe that takes so long has
    /// nothing left to say. It is not cut off before half of a try, as its caller may still want the answer.
    pub fn of(&self, permit: &impl AnyPermit, slow: impl FnOnce() -> Option<Duration>) -> Duration {
        if permit.is_probe() && permit.is_enforced() {
            self.of_probe(permit.trips(), slow())
        } else {
            self.of_try
        }
    }

    /// The limit of a probe after that many trips in a row.
    pub fn of_probe(&self, trips: u8, slow: Option<Duration>) -> Duration {
        let by_slow = slow.map(|slow| slow.max(self.of_try / 2));
        let by_trips = match (self.of_first_probe, trips) {
            // A probe follows at least one trip.
            (Some(first), trips @ ..4) => Some(first.saturating_mul(1 << trips.saturating_sub(1))),
            _ => None,
        };
        let limits = [by_slow, by_trips].into_iter().flatten();
        limits.fold(self.of_try, Duration::min)
    }
}

/// Limits how long a request may take, from when it is made until its response, including the wait until the service is
/// ready. Belongs below a [`BreakerLayer`](super::BreakerLayer), where a timeout counts as a failure.
///
/// The service must be `Clone`, as clients are: it is always ready, and the readiness of a clone is awaited within the
/// limit. tower's own `Timeout` starts at the call, so a service that is never ready, such as a pool without
/// connections, hangs in front of it, and no breaker notices.
///
/// A response that arrives exactly at the limit is in time. A request that took too long is dropped before the error is
/// returned. Nothing is boxed; [`Duration::MAX`] is no limit. The limit is rounded up to milliseconds.
///
/// # Panics
/// A request panics outside of a tokio runtime, or in one without time enabled.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimitLayer {
    limit: Duration,
}

impl TimeLimitLayer {
    /// A limit for each request; [`Duration::MAX`] is none.
    pub const fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for TimeLimitLayer {
    type Service = TimeLimitService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TimeLimitService {
            inner,
            limit: self.limit,
        }
    }
}

/// The service of a [`TimeLimitLayer`].
#[derive(Clone, Copy, Debug)]
pub struct TimeLimitService<S> {
    inner: S,
    limit: Duration,
}

impl<S> TimeLimitService<S> {
    inner_service!();
}

impl<S, Q> Service<Q> for TimeLimitService<S>
where
    S: Service<Q> + Clone,
{
    type Response = S::Response;
    type Error = Timed<S::Error>;
    type Future = TimeLimitFuture<ReadyCall<S, Q>>;

    /// Always ready: the service's readiness is awaited within the limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let call = ReadyCall::new(self.inner.clone(), request);
        TimeLimitFuture {
            call: Some(timeout(self.limit, call)),
        }
    }
}

pin_project! {
    /// The future of a [`TimeLimitService`].
    ///
    /// # Panics
    /// When it is polled again after it has completed.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct TimeLimitFuture<F> {
        // `None` once it has completed.
        #[pin]
        call: Option<Timeout<F>>,
    }
}

impl<F, T, E> Future for TimeLimitFuture<F>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Result<T, Timed<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut call = self.project().call;
        let running = call.as_mut().as_pin_mut();
        // Polls the call before the timer, so that a response that arrives exactly at the limit is in time.
        let result = ready!(running.expect("polled after it was ready").poll(context));
        // Frees what the call holds, perhaps a connection, before the caller continues.
        call.set(None);
        Poll::Ready(match result {
            Ok(result) => result.map_err(Timed::Failed),
            Err(_) => Err(Timed::TimedOut),
        })
    }
}
