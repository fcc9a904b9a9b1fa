// SPDX-License-Identifier: MIT OR Apache-2.0
//! reqwest's client as a service of `http::Request`s; its responses as those of the crate `http`, and back.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use atomic_breaker_server::AnyPermit;
use http::Request;
use reqwest::Response;
use tower_service::Service;

use crate::at_end::{OwnLimit, WholeResponse};
use crate::callers_limit::{CallersLimit, take_apart};
use crate::client::{ClientResponse, Responded};
use crate::client_error::ClientError;

/// reqwest's client for layers that send a request again: it takes [`http::Request`]s, as `reqwest::Request`s are not
/// `Clone`, and returns `reqwest::Response`s.
///
/// The body is any that reqwest accepts. With retries it must be cheap to clone, as [`Bytes`](crate::Bytes) is;
/// [`repeatable`](crate::repeatable) turns a request built with reqwest into such a request.
///
/// Enables no TLS itself: your own dependency on reqwest decides that. Each call boxes its future, which is one
/// allocation besides those that reqwest makes. Behind a `ClientGuard`:
///
/// ```
/// use atomic_breaker_http::{ClientConfig, ClientGuard, HttpClient, repeatable};
/// use std::sync::LazyLock;
/// use tower::{ServiceExt, Layer};
///
/// static GUARD: LazyLock<ClientGuard> =
///     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
///
/// # async fn get() -> Result<(), Box<dyn std::error::Error>> {
/// let reqwest = reqwest::Client::new();
/// let client = GUARD.layer().layer(HttpClient::new(reqwest.clone()));
///
/// // Built as ever; sent through deadline, retries, the breaker of its host and the limit of a try.
/// let request = reqwest.get("https://api.example/items").header("accept", "text/plain").build()?;
/// let text = client.clone().oneshot(repeatable(&request)?).await?.text().await?;
/// # let _ = text; Ok(())
/// # }
/// # let _ = get();
/// ```
///
/// Layers of your own without retries, such as [`HttpClassifier`](crate::HttpClassifier) with `PerHost`, also go directly
/// around `reqwest::Client`, which is a `Service`.
///
/// Truncated bodies count with `ClientConfig::at_end_of_body`, for which reqwest boxes the body, or with
/// [`HttpClassifier::at_end_of_body`](crate::HttpClassifier::at_end_of_body) in your own layers; above those,
/// `reqwest::Response::from(response.map(reqwest::Body::wrap))` has `json()`, `text()` and its URL again. [`ReqwestErrors`](crate::ReqwestErrors) knows which errors are the host's
/// fault and which the caller's: `ClientGuard` around an [`HttpClient`] and `BreakerMiddleware` use it by default; in
/// your own layers pass it to [`HttpClassifier::errors`](crate::HttpClassifier::errors).
///
/// # What reqwest does by itself
///
/// - It **follows redirects** within one try: the result counts for the host that was asked first. To count each host,
///   use `redirect(Policy::none())`.
/// - It **sends again** requests that a server refused at protocol level before looking at them; the breaker sees the
///   last attempt. Leave its own `retry(..)` off, or tries multiply: 3 here and 3 there are 9.
/// - The `timeout` of a **request** is a deadline for all its tries and for the body of the response. Beneath a
///   `ClientGuard` the caller gets a [`ClientError`] whose `is_timeout` is true, or `RequestError::OwnDeadlineExceeded` if
///   layers in between have changed the type of the error, and the try [goes
///   on](crate::ClientConfig::outliving). In your own layers such a call is cancelled.
/// - The `timeout` of the **client** covers the body too, while the limits here end with the head: a `read_timeout`
///   catches bodies that hang, but not those that drip, as it begins again with each byte: put a limit of your own
///   around reading them. It covers the head as well, so do not make it shorter than the limit of a try.
/// - Behind a **proxy**, a dead proxy looks as if all hosts were dead, and opens their breakers.
/// - Its errors show the **URL** with its query, which a breaker would keep as its last failure, and not the cause:
///   [`ClientError`] shows the cause, and no URL. Directly around `reqwest::Client`, use `.map_err(ClientError::from)`
///   below the breaker.
#[derive(Clone, Debug, Default)]
pub struct HttpClient(reqwest::Client);

impl HttpClient {
    /// Wraps a client, whose clones share its connections.
    pub const fn new(client: reqwest::Client) -> Self {
        Self(client)
    }

    /// The inner client.
    pub const fn get_ref(&self) -> &reqwest::Client {
        &self.0
    }
}

impl<B: Into<reqwest::Body>> Service<Request<B>> for HttpClient {
    type Response = Response;
    type Error = ClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, ClientError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(ready!(self.0.poll_ready(context))?))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Taken off by a `ClientGuard`, whose try outlives it; otherwise reqwest itself ends the call.
        let taken: Option<CallersLimit> = request.extensions().get().copied();
        // Fails for a URI without a scheme or a host.
        let sent = reqwest::Request::try_from(request).map(|request| {
            let has_own_limit = taken.is_none() && CallersLimit::is_on(&request);
            (has_own_limit, self.0.call(request))
        });
        Box::pin(async move {
            let (has_own_limit, response) = sent?;
            let result = response.await;
            let mut response = result.map_err(|error| ClientError::of(error, has_own_limit))?;
            if let Some(limit) = taken {
                return Ok(limit.over(response));
            }
            if has_own_limit {
                // For those that wait for the body, which the limit covers as well.
                response.extensions_mut().insert(OwnLimit);
            }
            Ok(response)
        })
    }
}

impl WholeResponse for Response {
    type Body = reqwest::Body;

    fn into_http(self) -> http::Response<reqwest::Body> {
        take_apart(self)
    }
}

impl ClientResponse for Response {
    type Guarded<P: AnyPermit + Send + Sync + 'static> = Self;

    fn guarded<P: AnyPermit + Send + Sync + 'static>(ended: Responded<Self, P>) -> Self {
        match ended {
            Responded::AtHead(response) => response,
            Responded::AtBody(response) => response.map(reqwest::Body::wrap).into(),
        }
    }
}
