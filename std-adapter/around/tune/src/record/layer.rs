// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recorder as a layer around a tower service.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::outcome::RecordedOutcome;
use super::{CallRecorder, Recording};

/// Records the calls of a service. Place it outside of the layer of a breaker, so that rejected calls are in the log, too.
///
/// `key` names what a request calls; `outcome` says how it ended, for example with [`RecordedOutcome::from_result`].
#[derive(Clone)]
pub struct RecordLayer<K, F> {
    recorder: Arc<CallRecorder>,
    key: K,
    outcome: F,
}

impl<K, F> RecordLayer<K, F> {
    /// A layer that writes through this recorder.
    pub const fn new(recorder: Arc<CallRecorder>, key: K, outcome: F) -> Self {
        Self {
            recorder,
            key,
            outcome,
        }
    }
}

impl<K, F> fmt::Debug for RecordLayer<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordLayer").finish_non_exhaustive()
    }
}

impl<S, K: Clone, F: Clone> Layer<S> for RecordLayer<K, F> {
    type Service = RecordService<S, K, F>;

    fn layer(&self, inner: S) -> Self::Service {
        RecordService {
            inner,
            layer: self.clone(),
        }
    }
}

/// A service whose calls are recorded.
#[derive(Clone, Debug)]
pub struct RecordService<S, K, F> {
    inner: S,
    layer: RecordLayer<K, F>,
}

impl<S, Q, K, N, F> Service<Q> for RecordService<S, K, F>
where
    S: Service<Q>,
    K: Fn(&Q) -> N,
    N: AsRef<str>,
    F: Fn(&Result<S::Response, S::Error>) -> RecordedOutcome + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RecordFuture<S::Future, F>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let RecordLayer {
            recorder,
            key,
            outcome,
        } = &self.layer;
        let key = key(&request);
        RecordFuture {
            recording: Some(Recording::begin(Arc::clone(recorder), key.as_ref())),
            outcome: outcome.clone(),
            inner: self.inner.call(request),
        }
    }
}

pin_project! {
    /// The future of a [`RecordService`].
    pub struct RecordFuture<T, F> {
        recording: Option<Recording<Arc<CallRecorder>>>,
        outcome: F,
        #[pin]
        inner: T,
    }
}

impl<T, F> fmt::Debug for RecordFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFuture").finish_non_exhaustive()
    }
}

impl<T, V, E, F> Future for RecordFuture<T, F>
where
    T: Future<Output = Result<V, E>>,
    F: Fn(&Result<V, E>) -> RecordedOutcome,
{
    type Output = Result<V, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = std::task::ready!(this.inner.poll(context));
        if let Some(recording) = this.recording.take() {
            recording.end((this.outcome)(&result));
        }
        Poll::Ready(result)
    }
}
