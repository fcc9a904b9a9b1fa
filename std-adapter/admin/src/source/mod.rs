//! What is shown: registries and single breakers of any type, fleets, jobs in any store.

#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "steps")]
pub(super) mod job_counts;
#[cfg(feature = "steps")]
pub(super) mod jobs;
mod registry;
mod single;

#[cfg(feature = "fleet")]
pub(super) use fleet::OfFleet;
#[cfg(feature = "steps")]
pub(super) use jobs::{JobsHead, OfSteps};
pub(super) use registry::OfRegistry;
pub(super) use single::OfSingle;

use std::sync::Arc;

use atomic_breaker::{Config, Control, Snapshot};
use atomic_breaker_registry::{Enforcement, LastFailure};
use serde::Serialize;

use super::response::Problem;

pub(super) type Command<'a> = &'a mut dyn FnMut(&dyn Control);

/// A registry or a breaker shown under a name.
pub(super) trait Source: Send + Sync {
    /// The information about the source as a whole.
    fn head(&self) -> Head;

    /// Visits one breaker after another, with the name of its key in a registry.
    fn visit(&self, visit: &mut dyn FnMut(Option<&str>, Seen));

    /// Commands one breaker, if it exists.
    fn command(&self, key: Option<&str>, command: Command<'_>) -> Result<(), Problem>;

    /// The rules of a key, or the common ones.
    fn rules(&self, key: Option<&str>) -> Result<Config, Problem>;

    /// Sets rules, unless it is only to be checked whether they could be set. Returns the rules before.
    fn set_rules(&self, key: Option<&str>, rules: Config, dry: bool) -> Result<Config, Problem>;

    /// Removes the own rules of a key, unless it is only to be seen what would apply to it then. Returns that, and
    /// whether anything was removed.
    fn clear_rules(&self, key: Option<&str>, dry: bool) -> Result<(Config, bool), Problem>;

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
struct Keys {
    known: usize,
    capacity: usize,
    evicted: u64,
    unguarded: u64,
}

/// A breaker and its state.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) snapshot: Snapshot,
    pub(super) last_failure: Option<Arc<LastFailure>>,
    pub(super) has_own_rules: bool,
}

fn not_set(error: &impl ToString) -> Problem {
    Problem::unprocessable(error.to_string())
}
