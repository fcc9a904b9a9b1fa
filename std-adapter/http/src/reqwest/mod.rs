//! reqwest behind breakers.

mod client;
mod errors;
#[cfg(feature = "reqwest-middleware")]
mod fresh;
#[cfg(feature = "reqwest-middleware")]
mod middleware;
#[cfg(feature = "reqwest-middleware")]
mod rejection;
mod request;
#[cfg(feature = "reqwest-middleware")]
mod timed_out;
mod whole;

use http::{HeaderMap, StatusCode};

pub use client::{HttpClient, HttpClientFuture};
pub use errors::ReqwestErrors;
#[cfg(feature = "reqwest-middleware")]
pub use middleware::BreakerMiddleware;
#[cfg(feature = "reqwest-middleware")]
pub use rejection::rejection_of;
pub use request::repeatable;
pub use whole::into_reqwest;

use crate::PerHost;
use crate::{Origin, OriginError, ResponseHead};

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
    /// use atomic_breaker_http::Origin;
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

impl<H> crate::Admit<reqwest::Request> for PerHost<H>
where
    H: atomic_breaker_registry::AnyRegistry<Key = Origin> + Clone,
{
    type Permit = atomic_breaker_registry::KeyedPermit<H>;

    fn admit(&self, request: &reqwest::Request) -> Result<Self::Permit, crate::Rejection> {
        self.admit_to(Origin::of_reqwest(request))
    }
}
