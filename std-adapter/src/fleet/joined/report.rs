//! Logs through `tracing`, where it is on, whether the engine answers.

use super::super::EngineError;
use super::FleetStatus;

/// Something went unanswered. A repeated error is logged once, until the engine has answered in between.
#[cfg(feature = "tracing")]
pub(super) fn lost(before: &FleetStatus, error: &EngineError) {
    if before.is_connected || before.last_error.as_ref() != Some(error) {
        tracing::warn!(
            target: "atomic_breaker::fleet",
            error = %error,
            "the engine of the fleet does not answer: breakers go on alone"
        );
    }
}

/// The status changes.
#[cfg(feature = "tracing")]
pub(super) fn changed(before: &FleetStatus, now: &FleetStatus) {
    if now.is_connected && !before.is_connected {
        tracing::info!(
            target: "atomic_breaker::fleet",
            living = now.living,
            "the engine of the fleet answers"
        );
    }
}

#[cfg(not(feature = "tracing"))]
pub(super) const fn lost(_: &FleetStatus, _: &EngineError) {}

#[cfg(not(feature = "tracing"))]
pub(super) const fn changed(_: &FleetStatus, _: &FleetStatus) {}
