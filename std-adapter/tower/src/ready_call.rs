// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call of a service that may not be ready yet.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;

pin_project! {
    /// The future of a call that waits until the service is ready. A type of its own, so that the interface of this package
    /// does not depend on the version of `tower`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ReadyCall<S: Service<Q>, Q> {
        #[pin]
        call: Oneshot<S, Q>,
    }
}

impl<S: Service<Q>, Q> ReadyCall<S, Q> {
    #[inline]
    pub(crate) const fn new(service: S, request: Q) -> Self {
        let call = Oneshot::new(service, request);
        Self { call }
    }
}

impl<S: Service<Q>, Q> Future for ReadyCall<S, Q> {
    type Output = Result<S::Response, S::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().call.poll(context)
    }
}
