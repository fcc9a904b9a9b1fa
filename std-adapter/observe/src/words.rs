//! The words for states, causes and enforcement in events and labels.

use atomic_breaker_registry::{Cause, Enforcement, State};

/// The label of what has none of its own.
pub(super) const OTHER: &str = "other";

pub(super) const fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Open => "open",
        State::HalfOpen => "half_open",
        State::Returning => "returning",
        State::ForcedOpen => "forced_open",
        State::Disabled => "disabled",
        _ => OTHER,
    }
}

pub(super) const fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::FailureLimit => "failure_limit",
        Cause::FailureRatio => "failure_ratio",
        Cause::TripDemanded => "trip_demanded",
        Cause::RetryAfter => "retry_after",
        Cause::OpenTimeOver => "open_time_over",
        Cause::ProbeFailed => "probe_failed",
        Cause::ProbeCancelled => "probe_cancelled",
        Cause::ProbeLost => "probe_lost",
        Cause::ProbesSucceeded => "probes_succeeded",
        Cause::TrafficReturned => "traffic_returned",
        Cause::Manual => "manual",
        Cause::Restored => "restored",
        Cause::CorruptWord => "corrupt_word",
        _ => OTHER,
    }
}

/// Whether rejections are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Enforced,
    Shadow,
    /// Some are enforced, and it is not known whether this one is.
    Partial,
}

impl Mode {
    #[cfg(feature = "metrics")]
    pub(super) const ALL: [Self; 3] = [Self::Enforced, Self::Shadow, Self::Partial];

    /// That of a breaker whose enforcement is known.
    pub(super) fn of(enforcement: Option<fn() -> &'static Enforcement>) -> Self {
        match enforcement.map_or(100, |enforcement| enforcement().percent()) {
            100.. => Self::Enforced,
            0 => Self::Shadow,
            1..100 => Self::Partial,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Shadow => "shadow",
            Self::Partial => "partial",
        }
    }
}
