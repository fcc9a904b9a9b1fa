//! The words for states and causes.

use atomic_breaker::{Cause, State};

/// The index of a state; one that is not known here has the index after the last.
#[cfg(feature = "metrics")]
pub(super) fn state_index(state: State) -> usize {
    let index = State::ALL.iter().position(|known| *known == state);
    index.unwrap_or(State::ALL.len())
}

pub(super) const fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Open => "open",
        State::HalfOpen => "half_open",
        State::Returning => "returning",
        State::ForcedOpen => "forced_open",
        State::Disabled => "disabled",
        _ => "other",
    }
}

/// The index of a cause; one that is not known here has the index after the last.
#[cfg(feature = "metrics")]
pub(super) fn cause_index(cause: Cause) -> usize {
    let index = Cause::ALL.iter().position(|known| *known == cause);
    index.unwrap_or(Cause::ALL.len())
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
        _ => "other",
    }
}

/// Whether rejections are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Enforced,
    /// Some are enforced, and it is not known whether this one is.
    Partial,
    Shadow,
}

impl Mode {
    #[cfg(feature = "metrics")]
    pub(super) const ALL: [Self; 3] = [Self::Enforced, Self::Partial, Self::Shadow];

    pub(super) const fn of_percent(percent: u8) -> Self {
        match percent {
            100.. => Self::Enforced,
            0 => Self::Shadow,
            1..100 => Self::Partial,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Partial => "partial",
            Self::Shadow => "shadow",
        }
    }
}
