//! The breaker of one key, for a service that belongs to one.

use std::task::Waker;
use std::time::Duration;

use crate::{Admit, Gated, Rejection};
use atomic_breaker::{Clock, State, word::Layout};

use super::{AnyRegistry, KeyedAdmit, KeyedPermit};

/// Asks the breaker of one key for all requests: for a service that belongs to one key, such as the endpoint of a balancer
/// under a `GateLayer`. The endpoints of a pool then share a registry, and with it
/// [`max_shut_out`](super::RegistryBuilder::max_shut_out).
///
/// ```
/// use atomic_breaker_server::{Admit, Config, OneKey, Registry};
/// use std::sync::Arc;
///
/// let pool: Registry<&str> = Registry::builder(Config::new()).max_shut_out(1).build()?;
/// let pool = Arc::new(pool);
/// let endpoint = OneKey::new(Arc::clone(&pool), "10.0.0.1:80");
/// assert!(endpoint.admit("a request").is_ok());
/// # Ok::<(), atomic_breaker_server::RegistryError>(())
/// ```
///
/// Changes wake no gate: it looks each second.
#[derive(Clone, Copy, Debug)]
pub struct OneKey<H: AnyRegistry> {
    registry: H,
    key: H::Key,
}

impl<H: AnyRegistry + Clone> OneKey<H> {
    /// Asks the breaker of `key`.
    pub const fn new(registry: H, key: H::Key) -> Self {
        Self { registry, key }
    }

    /// The key.
    pub const fn key(&self) -> &H::Key {
        &self.key
    }
}

impl<H: AnyRegistry> KeyedAdmit for OneKey<H> {
    type Registry = H;
}

impl<Q: ?Sized, H: AnyRegistry + Clone> Admit<Q> for OneKey<H> {
    type Permit = KeyedPermit<H>;

    #[inline]
    fn admit(&self, _: &Q) -> Result<Self::Permit, Rejection> {
        KeyedPermit::acquire(self.registry.clone(), self.key.clone())
    }
}

impl<H: AnyRegistry> Gated for OneKey<H> {
    fn state(&self) -> State {
        self.registry.state(&self.key)
    }

    fn epoch(&self) -> u16 {
        let entry = self.registry.entry(&self.key);
        entry.map_or(0, |entry| entry.snapshot.epoch())
    }

    fn wake_on_change(&self, _: &Waker) -> bool {
        false
    }

    fn random(&self) -> u32 {
        self.registry.clock.random()
    }

    fn lease(&self) -> Duration {
        let lease_ms = self
            .registry
            .config_of(&self.key)
            .lease_ms(Layout::WIDE.max_ms());
        Duration::from_millis(lease_ms.into())
    }
}
