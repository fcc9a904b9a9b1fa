//! How this process stands in a fleet.

use atomic_breaker_fleet::FleetStatus;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::text;
use super::Named;

/// The most bytes of an error that are shown.
const ERROR: usize = 512;

pub(crate) fn fleet(Named { name, it }: &Named<watch::Receiver<FleetStatus>>) -> Value {
    let status = it.borrow().clone();
    // An error means that the sender, which would change it, is gone: this process has left.
    let is_joined = it.has_changed().is_ok();
    json!({
        "name": name,
        "is_joined": is_joined,
        "is_connected": is_joined && status.is_connected,
        "living": status.living,
        "is_below_quorum": status.is_below_quorum,
        "breakers": status.breakers,
        "open": status.open,
        "unanswered": status.unanswered,
        "last_error": status.last_error.map(|error| text::bounded(&error, ERROR)),
        "overflows": status.overflows,
        "left_alone": status.left_alone,
        "withheld": status.withheld,
    })
}
