// SPDX-License-Identifier: MIT OR Apache-2.0
//! The key of a request: its host, or anything else.

use std::hash::Hash;

use http::Request;

use crate::Rejection;
use crate::origin::Origin;
use crate::per_host::host_of;

/// A key that a [`ClientGuard`](crate::ClientGuard) can have.
pub trait GuardedKey: Hash + Eq + Clone + Send + Sync + 'static {}

impl<K: Hash + Eq + Clone + Send + Sync + 'static> GuardedKey for K {}

/// Finds the key of a request. [`ClientLayer::keyed`](crate::ClientLayer::keyed) makes one of a closure. A guard with other
/// keys than hosts needs one:
///
/// ```compile_fail,E0277
/// # use atomic_breaker_http::{ClientConfig, ClientGuard, StdClock};
/// # use tower::Layer;
/// # let client = tower::service_fn(|_: http::Request<String>| async { Ok::<_, std::io::Error>(http::Response::new(String::new())) });
/// let shards: ClientGuard<StdClock, u16> = ClientGuard::by_key(ClientConfig::new(), StdClock, ()).unwrap();
/// shards.leak().layer::<String>().layer(client);
/// ```
///
/// ```
/// # use atomic_breaker_http::{ClientConfig, ClientGuard, StdClock};
/// # use tower::Layer;
/// # let client = tower::service_fn(|_: http::Request<String>| async { Ok::<_, std::io::Error>(http::Response::new(String::new())) });
/// let shards: ClientGuard<StdClock, u16> = ClientGuard::by_key(ClientConfig::new(), StdClock, ()).unwrap();
/// let _ = shards.leak().layer::<String>().keyed(|_| 7).layer(client);
/// ```
#[diagnostic::on_unimplemented(
    message = "the layer does not know how to find a `{K}` in a request",
    note = "say so: `GUARD.layer().keyed(|request: &http::Request<_>| ..)`"
)]
pub trait FindKey<B, K> {
    #[doc(hidden)]
    fn key_of(&self, request: &Request<B>) -> Result<K, Rejection>;

    /// A copy for as long as a request lasts.
    #[doc(hidden)]
    fn shared(key: &K) -> K;
}

/// The host of a request.
#[derive(Clone, Debug)]
pub struct ByHost {
    /// The host of requests that name none.
    pub(super) origin: Option<Origin>,
}

impl<B> FindKey<B, Origin> for ByHost {
    fn key_of(&self, request: &Request<B>) -> Result<Origin, Rejection> {
        host_of(Origin::from_request(request), self.origin.as_ref())
    }

    fn shared(key: &Origin) -> Origin {
        key.shared()
    }
}

/// The key that a closure finds.
#[derive(Clone, Copy, Debug)]
pub struct ByAnyKey<F>(pub(super) F);

impl<B, K: Clone, F: Fn(&Request<B>) -> K> FindKey<B, K> for ByAnyKey<F> {
    fn key_of(&self, request: &Request<B>) -> Result<K, Rejection> {
        Ok((self.0)(request))
    }

    fn shared(key: &K) -> K {
        key.clone()
    }
}
