// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a request through the middleware.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{Admit, AnyPermit};
use atomic_breaker_tower::{Leaving, Try};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next, Result};
use tokio::time::timeout;

use super::super::call::Call;
use super::super::created::not_sent;
use super::super::upload::{Caller, Upload};
use super::BreakerMiddleware;
use crate::callers_limit::CallersLimit;
use crate::client::{ClientResponse, read_on};
use crate::errors::ErrorRule;
use crate::origin::Origin;

impl<A, X> Middleware for BreakerMiddleware<A, X>
where
    A: Admit<Request, Permit: Send + Sync + 'static> + Send + Sync + 'static,
    X: ErrorRule<Error> + Clone + Send + Sync + 'static,
{
    // What `async_trait` generates for an `async fn`.
    fn handle<'me, 'extensions, 'next, 'call>(
        &'me self,
        request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'call>>
    where
        'me: 'call,
        'extensions: 'call,
        'next: 'call,
        Self: 'call,
    {
        Box::pin(async {
            self.last.check(next, &self.client, &request, extensions)?;
            self.guard(request, extensions).await
        })
    }
}

impl<A, X> BreakerMiddleware<A, X>
where
    A: Admit<Request, Permit: Send + Sync + 'static>,
    X: ErrorRule<Error> + Clone + Send + Sync + 'static,
{
    async fn guard(&self, mut request: Request, extensions: &mut Extensions) -> Result<Response> {
        let permit = self.admit.admit(&request).map_err(not_sent)?;
        let leaving = self.leaving(&permit, &request);
        let limit = self.limit.of(&permit, || self.slow.of(&request));
        let callers_limit = CallersLimit::take(&mut request);
        let url = callers_limit.map(|_| request.url().clone());
        let upload = Upload::watch(&mut request);
        let caller = Caller::of(upload.as_ref());
        let call = Call {
            permit,
            request,
            extensions: extensions.clone(),
            client: Arc::clone(&self.client),
            limit,
            repair_limit: self.limit.of_try(),
            callers_limit,
            upload,
            report: self.report.clone(),
        };
        let mut made = Try::new(call.make(), leaving);
        if self.report.at_end.is_some() {
            made = made.reading_on(limit, |(result, _), late| read_on(result, late));
        }
        let (result, after) = match callers_limit.zip(url) {
            None => made.await,
            Some((own, url)) => match timeout(own.limit, made).await {
                Ok(ended) => ended,
                // The caller leaves; its try goes on.
                Err(_) => return Err(own.passed().with_url(url).into()),
            },
        };
        caller.stays();
        *extensions = after;
        result.map(Response::guarded)
    }

    /// The parts needed when the caller leaves; `None` without a limit, as the call might never end.
    fn leaving(&self, permit: &A::Permit, request: &Request) -> Option<Leaving<Origin>> {
        let places = self.places.as_ref()?;
        if self.limit.of_try() == Duration::MAX || !permit.is_admitted() {
            return None;
        }
        let host = Origin::from_reqwest(request).ok()?;
        Some(Leaving::new(Arc::clone(places), host, permit.is_probe()))
    }
}
