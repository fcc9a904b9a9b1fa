//! How a joined process stands.

use super::super::EngineError;

/// How a joined process stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// The engine answers, and what it publishes is heard.
    pub is_connected: bool,
    /// Instances that live, by what the engine said last; 0 if it has never answered.
    pub living: u32,
    /// Living instances are fewer than the quorum: it cannot be reached.
    pub is_below_quorum: bool,
    /// Breakers that were taken, and keys of registries that are followed now: those that are open here, or lately were.
    pub breakers: usize,
    /// Breakers that are open by the fleet.
    pub open: usize,
    /// Requests that had an error or no answer within the limit, and subscriptions that failed or ended, since the start.
    pub unanswered: u64,
    /// Why the last of these, in the words of the engine's client: also after it was connected again.
    pub last_error: Option<EngineError>,
    /// Events of breakers that found the queue full, since the start.
    pub overflows: u64,
    /// How often a key of a registry could not follow, as its name is too long or there was no room, since the start.
    pub left_alone: u64,
    /// In shadow mode: what would have been done to breakers, since the start.
    pub withheld: u64,
}
