//! reqwest behind breakers. Feature `reqwest`; enables no TLS itself: your own dependency on reqwest decides that.
//!
//! ```
//! # #[cfg(all(feature = "client", target_has_atomic = "64"))] {
//! use atomic_breaker_std::client::{ClientConfig, ClientGuard};
//! use atomic_breaker_std::reqwest::{HttpClient, repeatable};
//! use std::sync::LazyLock;
//! use tower::{ServiceExt, Layer};
//!
//! static GUARD: LazyLock<ClientGuard> =
//!     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
//!
//! # async fn get() -> Result<(), Box<dyn std::error::Error>> {
//! let reqwest = reqwest::Client::new();
//! let client = GUARD.layer().layer(HttpClient::new(reqwest.clone()));
//!
//! // Built as ever; sent through deadline, retries, the breaker of its host and the limit of a try.
//! let request = reqwest.get("https://api.example/items").header("accept", "text/plain").build()?;
//! let request = repeatable(&request).ok_or("its body is streamed")?;
//! let text = client.clone().oneshot(request).await?.text().await?;
//! # let _ = text; Ok(())
//! # }
//! # let _ = get();
//! # }
//! ```
//!
//! | you have | use |
//! |---|---|
//! | a client that should retry and reject by itself | `ClientGuard` around [`HttpClient`] |
//! | your own layers, with retries | [`HttpClient`] beneath them: it takes `http::Request`s, which are `Clone` |
//! | your own layers, without retries | [`HttpClassifier`](crate::http::HttpClassifier) and `PerHost` directly around `reqwest::Client`, which is a `Service` |
//! | reqwest-middleware, with its retries | `BreakerMiddleware` among the middlewares, feature `reqwest-middleware` |
//! | a breaker and no layers | [`call_async_with`](atomic_breaker::Breaker::call_async_with) and `HttpClassifier` around `client.execute(..)` |
//!
//! Bodies that break off count with `ClientConfig::at_end_of_body`, or with
//! [`HttpClassifier::at_end_of_body`](crate::http::HttpClassifier::at_end_of_body) in your own layers; [`into_reqwest`]
//! above them turns the responses back into `reqwest::Response`s. [`ReqwestErrors`] knows which errors are the host's
//! fault and which the caller's: `ClientGuard` around an [`HttpClient`] and `BreakerMiddleware` use it by default; in
//! your own layers pass it to [`HttpClassifier::with_rules`](crate::http::HttpClassifier::with_rules).
//!
//! # What reqwest does by itself
//!
//! - It **follows redirects** within one try: the result counts for the host that was asked first. To count each host,
//!   use `redirect(Policy::none())`.
//! - It **sends again** requests that a server refused at protocol level before looking at them; the breaker sees the
//!   last attempt. Leave its own `retry(..)` off, or tries multiply: 3 here and 3 there are 9.
//! - Its `timeout` covers the **body** too, while the limits here end with the head: a `read_timeout` catches bodies
//!   that hang. It covers the head as well, so do not make it shorter than the limit of a try.
//! - Behind a **proxy**, a dead proxy looks as if all hosts were dead, and opens their breakers.
//! - Its errors show the **URL** with its query, which a breaker would keep as its last failure, and not the cause:
//!   [`ClientError`] shows the cause, and no URL. Directly around `reqwest::Client`, use `.map_err(ClientError::from)`
//!   below the breaker.

mod client;
mod error;
mod errors;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
mod fresh;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
mod middleware;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
mod rejection;
mod request;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
mod timed_out;
mod whole;

use http::{HeaderMap, StatusCode};

pub use client::{HttpClient, ResponseFuture};
pub use error::ClientError;
pub use errors::ReqwestErrors;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
pub use middleware::BreakerMiddleware;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
pub use rejection::rejection_of;
pub use request::repeatable;
pub use whole::into_reqwest;

#[cfg(all(feature = "registry", target_has_atomic = "64"))]
use crate::http::PerHost;
use crate::http::{Origin, OriginError, ResponseHead};

impl ResponseHead for reqwest::Response {
    fn status(&self) -> StatusCode {
        Self::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        Self::headers(self)
    }
}

impl Origin {
    /// The origin of a reqwest request. Equal to [`of`](Self::of) its URL.
    ///
    /// ```
    /// use atomic_breaker_std::http::Origin;
    /// use reqwest::{Method, Request, Url};
    ///
    /// let url = Url::parse("https://user:secret@API.example:443/a?b")?;
    /// let origin = Origin::of_reqwest(&Request::new(Method::GET, url))?;
    /// assert_eq!(origin.to_string(), "https://api.example");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OriginError`]: the URL has no host (`data:text/plain,x`), or an invalid one.
    pub fn of_reqwest(request: &reqwest::Request) -> Result<Self, OriginError> {
        let url = request.url();
        let server = url.authority();
        // The password is not needed, and the origin is kept.
        let server = server.rsplit_once('@').map_or(server, |(_, server)| server);
        if server.is_empty() {
            return Err(OriginError::Missing);
        }
        let server = server.try_into().map_err(|_| OriginError::BadHost)?;
        Self::new(url.scheme().try_into().ok(), server)
    }
}

#[cfg(all(feature = "registry", target_has_atomic = "64"))]
impl<H> crate::Admit<reqwest::Request> for PerHost<H>
where
    H: crate::registry::AnyRegistry<Key = Origin> + Clone,
{
    type Permit = crate::registry::KeyedPermit<H>;

    fn admit(&self, request: &reqwest::Request) -> Result<Self::Permit, crate::Rejection> {
        self.admit_to(Origin::of_reqwest(request))
    }
}
