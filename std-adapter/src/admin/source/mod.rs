//! What is shown: registries and single breakers, whatever their parts.

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

use crate::resource::{Enforcement, LastFailure};

/// A registry or a breaker behind its name.
pub(super) trait Source: Send + Sync {
    /// What concerns all of it.
    fn head(&self) -> Head;

    /// Looks at one breaker after another.
    fn visit(&self, seen: &mut dyn FnMut(Seen));

    /// Commands one breaker that is there.
    fn command(
        &self,
        key: Option<&str>,
        command: &mut dyn FnMut(&dyn Control),
    ) -> Result<(), Refused>;

    /// The rules of a key, or those of all.
    fn rules(&self, key: Option<&str>) -> Result<Config, Refused>;

    /// The rules that a key has without those of its own.
    fn rules_without_own(&self, key: &str) -> Result<Config, Refused>;

    /// Whether these rules could be set.
    fn check_rules(&self, rules: Config) -> Result<(), Refused>;

    fn set_rules(&self, key: Option<&str>, rules: Config) -> Result<(), Refused>;

    /// Returns whether there was something to clear.
    fn clear_rules(&self, key: &str) -> Result<bool, Refused>;

    /// Shadow mode, where there is one.
    fn enforcement(&self) -> Option<&Enforcement>;
}

/// What concerns all of a source.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    kind: &'static str,
    /// Of registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Keys>,
    /// The share of rejections that are enforced, in percent; none where there is no shadow mode.
    enforced_percent: Option<u8>,
    /// The rules of all that have none of their own.
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

/// A breaker, as it stands.
#[derive(Debug)]
pub(super) struct Seen {
    /// The key of a registry.
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
    /// The rules do not fit: which, and what to do.
    Rules(String),
}
