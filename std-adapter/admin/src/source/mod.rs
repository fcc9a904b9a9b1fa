//! What is shown: registries and single breakers, of whatever type.

#[cfg(feature = "fleet")]
mod fleet;
mod registry;
mod single;

#[cfg(feature = "fleet")]
pub(super) use fleet::OfFleet;
pub(super) use registry::{OfRegistry, displayed};
pub(super) use single::OfSingle;
pub use single::Single;

use std::sync::Arc;

use atomic_breaker::{Config, Control, Snapshot};
use serde::Serialize;

use atomic_breaker_std::{Enforcement, LastFailure};

/// A registry or a breaker shown under a name.
pub(super) trait Source: Send + Sync {
    /// The information about the source as a whole.
    fn head(&self) -> Head;

    /// Visits one breaker after another.
    fn visit(&self, seen: &mut dyn FnMut(Seen));

    /// Commands one breaker, if it exists.
    fn command(
        &self,
        key: Option<&str>,
        command: &mut dyn FnMut(&dyn Control),
    ) -> Result<(), Refused>;

    /// The rules of a key, or the common ones.
    fn rules(&self, key: Option<&str>) -> Result<Config, Refused>;

    /// The rules that a key would have without its own.
    fn rules_without_own(&self, key: &str) -> Result<Config, Refused>;

    /// Whether these rules could be set.
    fn check_rules(&self, rules: Config) -> Result<(), Refused>;

    fn set_rules(&self, key: Option<&str>, rules: Config) -> Result<(), Refused>;

    /// Returns whether there was something to clear.
    fn clear_rules(&self, key: &str) -> Result<bool, Refused>;

    /// Shadow mode, if there is one.
    fn enforcement(&self) -> Option<&Enforcement>;
}

/// The information about a source as a whole.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    kind: &'static str,
    /// For registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Keys>,
    /// The share of rejections that are enforced, in percent; `None` where there is no shadow mode.
    enforced_percent: Option<u8>,
    /// The rules of all keys that have none of their own.
    rules: Config,
    can_change_rules: bool,
}

impl Head {
    pub(super) const fn has_keys(&self) -> bool {
        self.keys.is_some()
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Keys {
    known: usize,
    capacity: usize,
    evicted: u64,
    unguarded: u64,
}

/// A breaker and its state.
#[derive(Debug)]
pub(super) struct Seen {
    /// The key, for a registry.
    pub(super) key: Option<String>,
    pub(super) snapshot: Snapshot,
    pub(super) last_failure: Option<Arc<LastFailure>>,
    pub(super) has_own_rules: bool,
}

/// Why nothing was done.
#[derive(Debug)]
pub(super) enum Refused {
    /// No such key has a slot.
    Absent,
    /// Several keys read the same.
    Ambiguous,
    /// A key is missing, or there are no keys.
    KeyWanted(bool),
    /// The rules of a breaker are fixed.
    FixedRules,
    /// The rules do not fit: which, and how to fix it.
    Rules(String),
}
