// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker of a request's host.

use std::sync::Arc;

use atomic_breaker_server::{
    Admit, AnyRegistry, GuardPermit, InFlightLimit, InFlightPermit, KeyGuard,
};
use http::Request;

use crate::origin::{Origin, OriginError};
use crate::{Guard, Rejection};

/// Asks the breaker of a request's host: for layers, and with the feature `reqwest` also for reqwest's own requests.
///
/// The host is that of the URI, or else of the `Host` header. A request that names none, as tonic's clients send unless
/// they are built with `with_origin`, is **rejected** with an error that says what to do
/// ([`Rejection::is_without_key`]): one breaker for all of them would let one failing host shut out the others, and
/// without one they would be unguarded. If a client sends only to one host, [`with_origin`](Self::with_origin) names it
/// here.
///
/// ```
/// use atomic_breaker_http::{Config, Origin, PerHost, Registry};
/// use atomic_breaker_server::Admit;
/// use http::{Request, Uri};
/// use std::sync::LazyLock;
///
/// static HOSTS: LazyLock<Registry<Origin>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
///
/// let per_host = PerHost::new(&*HOSTS);
/// assert!(per_host.admit(&Request::get("https://api.example/").body(()).unwrap()).is_ok());
///
/// let only_a_path = Request::get("/items").body(()).unwrap();
/// let rejection = per_host.admit(&only_a_path).err().unwrap();
/// assert!(rejection.is_without_key());
/// let per_host = per_host.with_origin(Origin::from_uri(&Uri::from_static("https://api.example"))?);
/// assert!(per_host.admit(&only_a_path).is_ok());
/// # Ok::<(), atomic_breaker_http::OriginError>(())
/// ```
///
/// `H` leads to the registry: a `&'static` reference ([`Registry::leak`](crate::Registry::leak), a
/// `LazyLock`) or an `Arc`, but cloning an `Arc` per request makes all threads write to the same memory.
#[derive(Clone, Debug)]
pub struct PerHost<H> {
    registry: H,
    origin: Option<Origin>,
}

impl<H: AnyRegistry<Key = Origin> + Clone> PerHost<H> {
    /// Asks the breaker of the request's host.
    pub const fn new(registry: H) -> Self {
        let origin = None;
        Self { registry, origin }
    }

    /// The host of requests that name none.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Asks the breaker of the host, if one was found.
    pub(crate) fn admit_to(
        &self,
        found: Result<Origin, OriginError>,
    ) -> Result<GuardPermit<KeyGuard<H>>, Rejection> {
        let origin = host_of(found, self.origin.as_ref())?;
        KeyGuard::new(self.registry.clone(), origin).acquire()
    }
}

/// The host of a request, or `otherwise` if it names none.
pub(crate) fn host_of(
    found: Result<Origin, OriginError>,
    otherwise: Option<&Origin>,
) -> Result<Origin, Rejection> {
    match (found, otherwise) {
        (Ok(origin), _) => Ok(origin),
        (Err(OriginError::Missing), Some(origin)) => Ok(origin.clone()),
        (Err(error), _) => Err(Rejection::without_key(error.message())),
    }
}

impl<B, H: AnyRegistry<Key = Origin> + Clone> Admit<Request<B>> for PerHost<H> {
    type Permit = GuardPermit<KeyGuard<H>>;

    #[inline]
    fn admit(&self, request: &Request<B>) -> Result<Self::Permit, Rejection> {
        self.admit_to(Origin::from_request(request))
    }
}

/// Counts calls of each host, or of each other key.
pub(crate) type HostCounts<K = Origin> = InFlightLimit<(), K>;

/// A call of a host that is counted until this is dropped.
pub(crate) type CountedCall<K> = InFlightPermit<Arc<HostCounts<K>>, ()>;
