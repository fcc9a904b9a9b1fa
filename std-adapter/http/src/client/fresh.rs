//! After a connection broke before a response, uses a fresh one within the same try.
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Request;
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;

use super::handle::{AnyClientGuard, BudgetOfHost};
use crate::usual_errors::{FRESH_CONNECTIONS, needs_fresh_connection};
use crate::{AnyBudget, ByMethod, Idempotent};

/// Sends a request again, at once and within its try, if its connection broke before a response: an idle pooled
/// connection fails this way if the host closed its side unnoticed, and that says nothing about the host as it is now.
/// Each time costs a token of the budget. A request that was refused unprocessed is sent again whatever its method,
/// others only if they may be sent twice.
#[derive(Clone, Debug)]
pub struct Fresh<S, H> {
    client: S,
    budget: BudgetOfHost<H>,
}

impl<S, H> Fresh<S, H> {
    pub(super) const fn new(client: S, budget: BudgetOfHost<H>) -> Self {
        Self { client, budget }
    }
}

impl<S, B, H> Service<Request<B>> for Fresh<S, H>
where
    S: Service<Request<B>, Error: Error + 'static> + Clone,
    B: Clone,
    H: AnyClientGuard,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = FreshFuture<S, B, H>;

    /// Always ready: the client's readiness is awaited within the try.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> FreshFuture<S, B, H> {
        FreshFuture {
            call: Oneshot::new(self.client.clone(), request.clone()),
            service: self.clone(),
            request,
            left: FRESH_CONNECTIONS,
        }
    }
}

pin_project! {
    /// The future of a [`Fresh`].
    #[must_use = "futures do nothing unless polled"]
    pub struct FreshFuture<S, B, H>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        call: Oneshot<S, Request<B>>,
        service: Fresh<S, H>,
        request: Request<B>,
        left: u32,
    }
}

impl<S, B, H> Future for FreshFuture<S, B, H>
where
    S: Service<Request<B>, Error: Error + 'static> + Clone,
    B: Clone,
    H: AnyClientGuard,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let result = ready!(this.call.as_mut().poll(context));
            let is_worth_it = |error: &S::Error| {
                needs_fresh_connection(error, || ByMethod.is_idempotent(this.request))
            };
            // The token last, so that none is wasted.
            if *this.left == 0
                || !result.as_ref().is_err_and(is_worth_it)
                || !this.service.budget.budget_of(this.request).withdraw()
            {
                return Poll::Ready(result);
            }
            *this.left -= 1;
            let call = Oneshot::new(this.service.client.clone(), this.request.clone());
            this.call.set(call);
        }
    }
}
