//! The causes of transitions.

use atomic_breaker::Cause;

/// All that there are.
pub const ALL: [Cause; 13] = [
    Cause::FailureLimit,
    Cause::FailureRatio,
    Cause::TripDemanded,
    Cause::RetryAfter,
    Cause::OpenTimeOver,
    Cause::ProbeFailed,
    Cause::ProbeCancelled,
    Cause::ProbeLost,
    Cause::ProbesSucceeded,
    Cause::TrafficReturned,
    Cause::Manual,
    Cause::Restored,
    Cause::CorruptWord,
];

/// All but these two.
pub fn all_but(two: [Cause; 2]) -> impl Iterator<Item = Cause> {
    ALL.into_iter().filter(move |cause| !two.contains(cause))
}
