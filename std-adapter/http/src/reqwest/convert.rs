//! Requests and responses of reqwest as those of the crate `http`, and back.

use std::fmt;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use http_body::Body;
use reqwest::{Response, ResponseBuilderExt};

use crate::{AnyPermit, AtEnd, Classify, ErrorRule, HttpBodyRule, Report, ReportingBody};

/// Turns a request built with reqwest's own builder (`.json(..)`, `.bearer_auth(..)`, `.timeout(..)`) into one that
/// layers can send again. Its body is shared and not copied. `None` if the body is streamed: that cannot be sent twice,
/// so send it with reqwest's client directly, or through a breaker without retries.
///
/// ```
/// use atomic_breaker_http::repeatable;
///
/// let client = reqwest::Client::new();
/// let request = client.put("https://api.example/items/7").body("seven").build()?;
/// let request = repeatable(&request).expect("not streamed");
/// assert_eq!((request.uri().path(), &request.body()[..]), ("/items/7", &b"seven"[..]));
/// # Ok::<(), reqwest::Error>(())
/// ```
pub fn repeatable(request: &reqwest::Request) -> Option<Request<Bytes>> {
    // It clones only bodies that are in memory.
    let request: Request<reqwest::Body> = request.try_clone()?.try_into().ok()?;
    let (parts, body) = request.into_parts();
    // Such a body is a single frame that is available at once, or empty.
    let mut context = Context::from_waker(Waker::noop());
    let body = match pin!(body).poll_frame(&mut context) {
        Poll::Ready(None) => Bytes::new(),
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok()?,
        Poll::Ready(Some(Err(_))) | Poll::Pending => return None,
    };
    Some(Request::from_parts(parts, body))
}

/// Turns a response whose body a layer took apart and changed, as `at_end_of_body` does, back into one of reqwest: with
/// `json()`, `text()` and its URL. reqwest boxes the body.
///
/// ```
/// use atomic_breaker_http::{
///     AtEndOfBody, ClientConfig, ClientGuard, HttpClient, StdClock, into_reqwest,
/// };
/// use http::Request;
/// use std::sync::LazyLock;
/// use tower::{ServiceBuilder, ServiceExt};
///
/// static GUARD: LazyLock<ClientGuard<StdClock, AtEndOfBody>> = LazyLock::new(|| {
///     ClientGuard::new(ClientConfig::new().at_end_of_body()).expect("constant settings")
/// });
///
/// # async fn get() -> Result<(), Box<dyn std::error::Error>> {
/// let client = ServiceBuilder::new()
///     .map_response(into_reqwest)
///     .layer(GUARD.layer())
///     .service(HttpClient::new(reqwest::Client::new()));
/// let request = Request::get("https://api.example/items").body("")?;
/// let text = client.oneshot(request).await?.text().await?;
/// # let _ = text; Ok(())
/// # }
/// # let _ = get();
/// ```
pub fn into_reqwest<B>(response: http::Response<B>) -> Response
where
    B: Body<Data: Into<Bytes>, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Sync
        + 'static,
{
    response.map(reqwest::Body::wrap).into()
}

/// Splits off the head and the body, and puts the URL where [`into_reqwest`] finds it.
fn take_apart(response: Response) -> http::Response<reqwest::Body> {
    let with_url = http::Response::builder()
        .url(response.url().clone())
        .body(());
    let mut response = http::Response::from(response);
    if let Ok(with_url) = with_url {
        let (parts, ()) = with_url.into_parts();
        response.extensions_mut().extend(parts.extensions);
    }
    response
}

/// Returns the response as an `http::Response`; [`into_reqwest`] turns it back into one of reqwest.
impl<E, C, Y> Report<Response, E> for AtEnd<C, Y>
where
    E: fmt::Display,
    C: Classify<http::Response<reqwest::Body>, E> + Report<http::Response<reqwest::Body>, E>,
    Y: ErrorRule<reqwest::Error> + Clone,
{
    type Output<P: AnyPermit> = http::Response<ReportingBody<reqwest::Body, P, HttpBodyRule<Y>>>;

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        result: Result<Response, E>,
    ) -> Result<Self::Output<P>, E> {
        self.report(permit, result.map(take_apart))
    }
}
