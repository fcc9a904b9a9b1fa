// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arrows of the drawing.

use atomic_breaker::{Cause, State, Transition};

use crate::spec::{MOST_LOST, Meaning};

/// A transition that was reported: between which states, and why.
pub(crate) type Arrow = (State, State, Cause);

/// All arrows of the drawing, with the causes that lead along them.
pub(crate) fn arrows() -> impl Iterator<Item = Arrow> {
    use Cause::{
        CorruptWord, FailureLimit, Manual, OpenTimeOver, ProbeCancelled, ProbeFailed, ProbeLost,
        ProbesSucceeded, Restored, RetryAfter, TrafficReturned, TripDemanded,
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
    // A word that outlived its users, and its clock.
    let restored = [
        (Open, Open, Restored),
        (HalfOpen, HalfOpen, Restored),
        (Returning, Closed, Restored),
        (Closed, Closed, Restored),
    ];
    by_failures
        .chain([released])
        .chain(by_probes)
        .chain(by_command)
        .chain(held)
        .chain(restored)
        .chain([(Closed, Closed, CorruptWord)])
}

/// Whether an arrow leads from the one word to the other: to trips that follow from those before, and to counts that begin
/// anew.
pub(crate) fn leads(made: &Transition, before: &Meaning, after: &Meaning) -> bool {
    let trips = match (made.to, made.cause) {
        // Only a word with the longest row of trips has no room for another.
        (State::Open, _) if made.from != State::Open => {
            after.trips == before.trips || after.trips == before.trips + 1
        }
        // A probe that is lost where nothing tripped, such as after `release`, counts as a trip.
        (State::HalfOpen, Cause::ProbeLost) | (State::Returning, _) => {
            after.trips == before.trips.max(1)
        }
        (State::Open | State::HalfOpen, _) => after.trips == before.trips,
        _ => after.trips == 0,
    };
    let is_kept = made.cause == Cause::Restored;
    let lost = match made.cause {
        Cause::ProbeLost => MOST_LOST.min(before.lost + 1),
        _ => 0,
    };
    // A probe is in flight if a call was admitted.
    let in_flight = u32::from(matches!(made.cause, Cause::OpenTimeOver | Cause::ProbeLost));
    // Lost probes and a loss of power take nothing back.
    let successes = match made.cause {
        Cause::ProbeLost | Cause::Restored => before.successes,
        _ => 0,
    };
    let counts = after.lost == lost
        && after.in_flight == in_flight
        && (after.failures == 0 || is_kept && after.failures == before.failures)
        && after.successes == successes;
    trips && counts
}
