//! The status of a joined process.

use crate::EngineError;

/// The status of a joined process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// The engine answers, and what it publishes is heard.
    pub is_connected: bool,
    /// Living instances, as the engine last reported; 0 if it has never answered.
    pub living: u32,
    /// There are fewer living instances than the quorum: it cannot be reached.
    pub is_below_quorum: bool,
    /// Breakers that were taken, and registry keys that are followed now: those that are open here, or recently were.
    pub breakers: usize,
    /// Breakers that the fleet holds open.
    pub open: usize,
    /// Requests that failed or got no answer within the limit, and subscriptions that failed or ended, since the start.
    pub unanswered: u64,
    /// The reason for the last of these, in the words of the engine's client; kept after reconnecting.
    pub last_error: Option<EngineError>,
    /// Breaker events that were dropped because the queue was full, since the start.
    pub overflows: u64,
    /// How often a registry key could not follow because its name is too long or there was no room, since the start.
    pub left_alone: u64,
    /// In shadow mode: how many actions on breakers were withheld, since the start.
    pub withheld: u64,
}
