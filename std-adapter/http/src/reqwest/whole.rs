//! Responses of reqwest that are reported at the end of their bodies.

use std::fmt;

use bytes::Bytes;
use http_body::Body;
use reqwest::{Response, ResponseBuilderExt};

use crate::{AnyPermit, Classify, Report};
use crate::{AtEnd, ErrorRule, HttpBodyRule, ReportingBody};

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
