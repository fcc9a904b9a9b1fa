// SPDX-License-Identifier: MIT OR Apache-2.0
//! reqwest behind breakers.

#[cfg(feature = "reqwest-middleware")]
mod call;
mod client;
#[cfg(feature = "reqwest-middleware")]
mod created;
mod errors;
#[cfg(feature = "reqwest-middleware")]
mod last;
#[cfg(feature = "reqwest-middleware")]
mod middleware;
mod repeatable;
#[cfg(feature = "reqwest-middleware")]
mod upload;

use http::{HeaderMap, StatusCode};

pub use client::HttpClient;
#[cfg(feature = "reqwest-middleware")]
pub use created::rejection_of;
pub use errors::ReqwestErrors;
#[cfg(feature = "reqwest-middleware")]
pub use middleware::BreakerMiddleware;
pub use repeatable::{NotRepeatable, repeatable};

use crate::Rejection;
use crate::head::ResponseHead;
use crate::origin::{Origin, OriginError};
use crate::per_host::PerHost;
use atomic_breaker_server::{Admit, AnyRegistry, GuardPermit, KeyGuard};

impl ResponseHead for reqwest::Response {
    fn status(&self) -> StatusCode {
        Self::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        Self::headers(self)
    }
}

impl Origin {
    /// The origin of a reqwest request. Equal to [`from_uri`](Self::from_uri) of its URL.
    ///
    /// # Errors
    /// [`OriginError`]: the URL has no host (`data:text/plain,x`), or an invalid one.
    pub fn from_reqwest(request: &reqwest::Request) -> Result<Self, OriginError> {
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

impl<H: AnyRegistry<Key = Origin> + Clone> Admit<reqwest::Request> for PerHost<H> {
    type Permit = GuardPermit<KeyGuard<H>>;

    fn admit(&self, request: &reqwest::Request) -> Result<Self::Permit, Rejection> {
        self.admit_to(Origin::from_reqwest(request))
    }
}
