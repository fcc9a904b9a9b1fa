//! How this process stands in a fleet.

use serde::Serialize;
use tokio::sync::watch;

use super::super::named::Named;
use super::super::text;
use atomic_breaker_fleet::FleetStatus;

/// The most bytes of an error that are shown.
const ERROR: usize = 512;

#[derive(Debug, Serialize)]
pub(crate) struct OfFleet<'a> {
    name: &'a str,
    /// Whether it is still joined.
    is_joined: bool,
    is_connected: bool,
    living: u32,
    is_below_quorum: bool,
    breakers: usize,
    open: usize,
    unanswered: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    overflows: u64,
    left_alone: u64,
    withheld: u64,
}

impl<'a> OfFleet<'a> {
    pub(crate) fn new(fleet: &'a Named<watch::Receiver<FleetStatus>>) -> Self {
        let status = fleet.it.borrow().clone();
        // An error means that the sender, which would change it, is gone.
        let is_joined = fleet.it.has_changed().is_ok();
        Self {
            name: &fleet.name,
            is_joined,
            is_connected: is_joined && status.is_connected,
            living: status.living,
            is_below_quorum: status.is_below_quorum,
            breakers: status.breakers,
            open: status.open,
            unanswered: status.unanswered,
            last_error: status.last_error.map(|error| text::bounded(&error, ERROR)),
            overflows: status.overflows,
            left_alone: status.left_alone,
            withheld: status.withheld,
        }
    }
}
