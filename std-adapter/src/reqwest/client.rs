//! reqwest's client as a service of `http::Request`s.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Request;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::ClientError;
use crate::http::OwnLimit;

/// reqwest's client for layers that send a request again: it takes [`http::Request`]s, as `reqwest::Request`s are not
/// `Clone`, and returns `reqwest::Response`s.
///
/// The body is any that reqwest accepts. With retries it must be cheap to clone, as `Bytes` is;
/// [`repeatable`](super::repeatable) turns a request built with reqwest into such a request.
///
/// ```
/// use atomic_breaker_std::reqwest::HttpClient;
/// use http::Request;
/// use tower::ServiceExt;
///
/// # async fn post() -> Result<(), Box<dyn std::error::Error>> {
/// let client = HttpClient::new(reqwest::Client::new());
/// let request = Request::post("https://api.example/items").body("an item")?;
/// let status = client.oneshot(request).await?.status();
/// # let _ = status; Ok(())
/// # }
/// # let _ = post();
/// ```
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
    type Future = ResponseFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(ready!(self.0.poll_ready(context))?))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        let request: Result<reqwest::Request, _> = request.try_into();
        let has_own_limit = request
            .as_ref()
            .is_ok_and(|request| request.timeout().is_some());
        let state = match request {
            Ok(request) => State::Sent {
                response: self.0.call(request),
            },
            Err(error) => State::Refused { error: Some(error) },
        };
        ResponseFuture {
            state,
            has_own_limit,
        }
    }
}

type Pending = <reqwest::Client as Service<reqwest::Request>>::Future;

pin_project! {
    /// The future of an [`HttpClient`].
    ///
    /// # Panics
    /// When it is polled again after it has completed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture {
        #[pin]
        state: State,
        has_own_limit: bool,
    }
}

pin_project! {
    #[project = Projected]
    enum State {
        Sent { #[pin] response: Pending },
        // reqwest accepts no URI without a scheme and a host.
        Refused { error: Option<reqwest::Error> },
    }
}

impl Future for ResponseFuture {
    type Output = Result<reqwest::Response, ClientError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let has_own_limit = *this.has_own_limit;
        let mut result = match this.state.project() {
            Projected::Sent { response } => ready!(response.poll(context)),
            Projected::Refused { error } => Err(error.take().expect("polled after it was ready")),
        };
        if let (Ok(response), true) = (&mut result, has_own_limit) {
            // For those that wait for the body, which the limit covers as well.
            response.extensions_mut().insert(OwnLimit);
        }
        Poll::Ready(result.map_err(|error| ClientError::of(error, has_own_limit)))
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
