// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker per key of a request.

use atomic_breaker::Outcome;

use super::{AnyRegistry, KeyGuard};
use crate::guard::{Guard, GuardPermit};
use crate::permit::{Admit, Rejection};

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

impl<Q, H, F> Admit<Q> for ByKey<H, F>
where
    Q: ?Sized,
    H: AnyRegistry + Clone,
    F: Fn(&Q) -> H::Key,
{
    type Permit = GuardPermit<KeyGuard<H>>;

    #[inline]
    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        KeyGuard::new(self.registry.clone(), (self.key)(request)).acquire()
    }

    fn admit_again(
        &self,
        _: &Q,
        permit: Self::Permit,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Result<Self::Permit, Rejection> {
        permit.replace(outcome, why)
    }
}
