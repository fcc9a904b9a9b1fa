//! One breaker per key of a request.

use super::{AnyRegistry, Key};
use crate::{Admit, Guard, GuardPermit, Rejection};

/// Admits each request through the breaker of its key: a [`ByKey`] or a `PerHost`.
/// [`InFlightByKey`](super::InFlightByKey) requires it in addition to [`Admit`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a circuit breaker for each key",
    note = "pass a `ByKey` or a `PerHost`; for one breaker there is `InFlightLimit`"
)]
pub trait KeyedAdmit {
    /// The type that leads to the registry of the breakers.
    type Registry: AnyRegistry;
}

/// Asks the breaker of a request's key; used in layers.
///
/// ```
/// use atomic_breaker_server::{Admit, ByKey, Config, Registry};
/// use std::sync::LazyLock;
///
/// struct Request { tenant: u32 }
///
/// static TENANTS: LazyLock<Registry<u32>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
///
/// let by_tenant = ByKey::new(&*TENANTS, |request: &Request| request.tenant);
/// assert!(by_tenant.admit(&Request { tenant: 7 }).is_ok());
/// ```
///
/// `H` leads to the registry: a `&'static` reference ([`Registry::leak`](super::Registry::leak), a `LazyLock`) or an
/// `Arc`, which makes every thread write to the same memory because it is cloned per request.
#[derive(Clone, Copy, Debug)]
pub struct ByKey<H, F> {
    registry: H,
    key: F,
}

impl<H: AnyRegistry, F> ByKey<H, F> {
    /// Asks the breaker of the key that `key` extracts from a request.
    pub const fn new<Q: ?Sized>(registry: H, key: F) -> Self
    where
        H: Clone,
        F: Fn(&Q) -> H::Key,
    {
        Self { registry, key }
    }

    /// Returns the handle that leads to the registry.
    pub const fn registry(&self) -> &H {
        &self.registry
    }
}

impl<H: AnyRegistry, F> KeyedAdmit for ByKey<H, F> {
    type Registry = H;
}

impl<Q, H, F> Admit<Q> for ByKey<H, F>
where
    Q: ?Sized,
    H: AnyRegistry + Clone,
    F: Fn(&Q) -> H::Key,
{
    type Permit = GuardPermit<Key<H>>;

    #[inline]
    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        Key::new(self.registry.clone(), (self.key)(request)).acquire()
    }
}
