//! A breaker or a key of this instance, as the fleet handles it.

use std::cell::Cell;

use atomic_breaker::{Config, Snapshot, Transition};

use crate::member::Action;

thread_local! {
    /// Whether the fleet is what acts on a breaker on this thread now.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a reported transition was made by the fleet itself.
pub(super) fn is_ours() -> bool {
    IS_OURS.get()
}

/// Marks what is done on this thread as the fleet's own until dropped, even if an observer panics.
pub(super) struct Ours;

impl Ours {
    pub(super) fn begin() -> Self {
        IS_OURS.set(true);
        Self
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        IS_OURS.set(false);
    }
}

/// There is no slot for a key.
pub(super) struct NoRoom;

/// A breaker, as the fleet handles it.
pub(super) trait Steer: Send {
    fn rules(&self) -> Config;
    /// A probe is in flight, or one of several has succeeded.
    fn is_probing(&self) -> bool;
    /// How many transitions the word has seen since `made`, modulo its epochs: 0 while that is the last.
    fn transitions_since(&self, made: &Transition) -> u16;
    fn act(&self, action: Action) -> Result<Option<Transition>, NoRoom>;
    /// Starts to wait for the next rejection, or stops.
    fn arm(&self, is_armed: bool);
}

pub(super) const fn is_probing(seen: &Snapshot) -> bool {
    seen.probes_in_flight() > 0 || seen.successes() > 0
}
