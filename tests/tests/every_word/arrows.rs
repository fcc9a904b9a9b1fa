// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arrows of the drawing.

use atomic_breaker::{Cause, State};

/// A transition that was reported: between which states, and why.
pub(crate) type Arrow = (State, State, Cause);

/// All arrows of the drawing, with the causes that lead along them.
pub(crate) fn arrows() -> impl Iterator<Item = Arrow> {
    use Cause::{
        CorruptWord, FailureLimit, Manual, OpenTimeOver, ProbeCancelled, ProbeFailed, ProbeLost,
        ProbesSucceeded, RetryAfter, TrafficReturned, TripDemanded,
    };
    use State::{Closed, Disabled, ForcedOpen, HalfOpen, Open, Returning};

    let trips = [FailureLimit, TripDemanded, RetryAfter, Manual];
    let by_failures = [Closed, Returning].into_iter();
    let by_failures = by_failures.flat_map(move |from| trips.map(|cause| (from, Open, cause)));
    let by_probes = [
        (Open, HalfOpen, OpenTimeOver),
        (HalfOpen, HalfOpen, ProbeLost),
        (HalfOpen, Open, ProbeFailed),
        (HalfOpen, Open, ProbeCancelled),
        (HalfOpen, Closed, ProbesSucceeded),
        (HalfOpen, Returning, ProbesSucceeded),
        (Returning, Closed, TrafficReturned),
    ];
    // `trip`, `trip_for`, `probe_now`, `probe_early`.
    let by_command = [
        (Open, Open),
        (Open, HalfOpen),
        (HalfOpen, Open),
        (HalfOpen, HalfOpen),
    ];
    let by_command = by_command.map(|(from, to)| (from, to, Manual));
    // Held, and let go: `force_open`, `disable`, `reset`.
    let all = [Closed, Returning, Open, HalfOpen, ForcedOpen, Disabled].into_iter();
    let held = all.flat_map(|from| {
        let held = [ForcedOpen, Disabled, Closed].into_iter();
        held.map(move |to| (from, to, Manual))
    });
    // `release` probes before it closes.
    let released = (ForcedOpen, HalfOpen, Manual);
    by_failures
        .chain([released])
        .chain(by_probes)
        .chain(by_command)
        .chain(held)
        .chain([(Closed, Closed, CorruptWord)])
}
