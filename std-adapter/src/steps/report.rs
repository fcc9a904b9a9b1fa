//! Says by `tracing`, where it is on, what somebody should change.

use super::Job;
use super::room::Start;

/// A call within a step was rejected while the step was the probe of its lane.
#[cfg(feature = "tracing")]
pub(super) fn in_its_own_way(job: &Job, start: &Start) {
    if start.is_first_in_its_own_way() {
        tracing::warn!(
            target: "atomic_breaker::steps",
            kind = job.kind,
            step = job.step,
            lane = job.lane,
            "a call within the step was rejected while the step was the probe of its lane: if both have the same \
             breaker, failures count twice; use `Lane::guarded_within`"
        );
    }
}

#[cfg(not(feature = "tracing"))]
pub(super) const fn in_its_own_way(_: &Job, _: &Start) {}
