// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs the calls that succeed.

use std::borrow::Cow;
use std::fmt;

use atomic_breaker_server::{KeyedObserver, Observer, Outcome, redact::printable};

use super::event;

/// Logs each call that succeeds, as an event with the target `atomic_breaker::call` and the level `DEBUG`: beside a
/// [`Log`](super::Log), which does not, so that a success costs nothing there.
///
/// ```
/// use atomic_breaker_observe::{Log, LogSuccesses};
/// use atomic_breaker_server::{Config, Guard, Registry, RegistryError};
///
/// let observers = (Log::new("hosts"), LogSuccesses::new("hosts"));
/// let hosts = Registry::builder(Config::new()).observer(observers).build()?;
/// assert_eq!(hosts.of("a.example").call(|| Ok::<_, &str>(7)), Ok(7));
/// // DEBUG atomic_breaker::call: call succeeded circuit_breaker.name="hosts" circuit_breaker.key="a.example"
/// # Ok::<(), RegistryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LogSuccesses(Cow<'static, str>);

impl LogSuccesses {
    /// Creates a log under that name: its first 128 bytes, with control characters escaped.
    pub fn new(name: impl fmt::Display) -> Self {
        Self(Cow::Owned(printable(name)))
    }

    /// Creates a log for a `static`, under that name.
    pub const fn in_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

impl Observer for LogSuccesses {
    #[inline]
    fn outcome(&self, outcome: Outcome) {
        if outcome == Outcome::Success {
            event::succeeded_call(&self.0, None);
        }
    }
}

impl<K: fmt::Display> KeyedObserver<K> for LogSuccesses {
    #[inline]
    fn outcome(&self, key: &K, outcome: Outcome) {
        if outcome == Outcome::Success {
            event::succeeded_call(&self.0, Some(key));
        }
    }
}
