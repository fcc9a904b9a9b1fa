//! reqwest's client as a service of `http::Request`s.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Request;
use tower_service::Service;

use crate::ClientError;
use crate::at_end::OwnLimit;

/// reqwest's client for layers that send a request again: it takes [`http::Request`]s, as `reqwest::Request`s are not
/// `Clone`, and returns `reqwest::Response`s.
///
/// The body is any that reqwest accepts. With retries it must be cheap to clone, as [`Bytes`](crate::Bytes) is;
/// [`repeatable`](super::repeatable) turns a request built with reqwest into such a request.
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
/// let request = repeatable(&request).ok_or("its body is streamed")?;
/// let text = client.clone().oneshot(request).await?.text().await?;
/// # let _ = text; Ok(())
/// # }
/// # let _ = get();
/// ```
///
/// Layers of your own without retries, such as [`HttpClassifier`](crate::HttpClassifier) with `PerHost`, also go directly
/// around `reqwest::Client`, which is a `Service`.
///
/// Truncated bodies count with `ClientConfig::at_end_of_body`, or with
/// [`HttpClassifier::at_end_of_body`](crate::HttpClassifier::at_end_of_body) in your own layers; [`into_reqwest`](crate::into_reqwest)
/// above them turns the responses back into `reqwest::Response`s. [`ReqwestErrors`](crate::ReqwestErrors) knows which errors are the host's
/// fault and which the caller's: `ClientGuard` around an [`HttpClient`] and `BreakerMiddleware` use it by default; in
/// your own layers pass it to [`HttpClassifier::errors`](crate::HttpClassifier::errors).
///
/// # What reqwest does by itself
///
/// - It **follows redirects** within one try: the result counts for the host that was asked first. To count each host,
///   use `redirect(Policy::none())`.
/// - It **sends again** requests that a server refused at protocol level before looking at them; the breaker sees the
///   last attempt. Leave its own `retry(..)` off, or tries multiply: 3 here and 3 there are 9.
/// - Its `timeout` covers the **body** too, while the limits here end with the head: a `read_timeout` catches bodies
///   that hang. It covers the head as well, so do not make it shorter than the limit of a try.
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
    type Response = reqwest::Response;
    type Error = ClientError;
    type Future = Pin<Box<dyn Future<Output = Result<reqwest::Response, ClientError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(ready!(self.0.poll_ready(context))?))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Fails for a URI without a scheme or a host.
        let sent = reqwest::Request::try_from(request)
            .map(|request| (request.timeout().is_some(), self.0.call(request)));
        Box::pin(async move {
            let (has_own_limit, response) = sent?;
            let result = response.await;
            let mut response = result.map_err(|error| ClientError::of(error, has_own_limit))?;
            if has_own_limit {
                // For those that wait for the body, which the limit covers as well.
                response.extensions_mut().insert(OwnLimit);
            }
            Ok(response)
        })
    }
}
