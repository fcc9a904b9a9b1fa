//! The events.
//!
//! A level is part of an event's static description, so each level has an event of its own.

use std::time::Duration;

use atomic_breaker_std::{Cause, Rejected, State, Transition};
use tracing::Level;

use super::words::{Mode, cause_name, state_name};

/// Whose event it is: the name, and the key of a registry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose<'a> {
    pub(super) name: &'a str,
    pub(super) key: Option<&'a str>,
}

macro_rules! at_level {
    ($level:expr, $target:literal, $($fields:tt)*) => {
        match $level {
            Level::WARN => tracing::event!(target: $target, Level::WARN, $($fields)*),
            _ => tracing::event!(target: $target, Level::INFO, $($fields)*),
        }
    };
}

/// Opening is a warning, and so is a corrupt word.
const fn level_of(transition: &Transition) -> Level {
    match (transition.to, transition.cause) {
        (State::Open | State::ForcedOpen, _) | (_, Cause::CorruptWord) => Level::WARN,
        _ => Level::INFO,
    }
}

/// Whether any subscriber wants events for transitions like this one.
pub(super) fn wants_transition(transition: &Transition) -> bool {
    match level_of(transition) {
        Level::WARN => tracing::event_enabled!(target: "atomic_breaker::transition", Level::WARN),
        _ => tracing::event_enabled!(target: "atomic_breaker::transition", Level::INFO),
    }
}

/// Whether any subscriber wants events for rejections.
pub(super) fn wants_rejections() -> bool {
    tracing::event_enabled!(target: "atomic_breaker::rejection", Level::INFO)
}

pub(super) fn transition(
    whose: Whose<'_>,
    transition: &Transition,
    last_failure: Option<&str>,
    left_out: u64,
) {
    at_level!(
        level_of(transition),
        "atomic_breaker::transition",
        circuit_breaker.name = whose.name,
        circuit_breaker.key = whose.key,
        circuit_breaker.previous_state = state_name(transition.from),
        circuit_breaker.state = state_name(transition.to),
        circuit_breaker.cause = cause_name(transition.cause),
        circuit_breaker.open_duration = transition.open_for().map(|time| time.as_secs_f64()),
        circuit_breaker.trips = transition.trips,
        circuit_breaker.epoch = transition.epoch,
        circuit_breaker.last_failure = last_failure,
        circuit_breaker.rejections_left_out = some(left_out),
        "{transition}"
    );
}

pub(super) fn rejection(whose: Whose<'_>, rejected: Rejected, mode: Mode, left_out: u64) {
    let state = rejected.state();
    let retry_in = rejected.retry_in().as_ref().map(Duration::as_secs_f64);
    let message = match mode {
        Mode::Enforced => "rejected",
        Mode::Partial => "rejected, or passes in shadow mode",
        Mode::Shadow => "would have been rejected, passes in shadow mode",
    };
    tracing::event!(
        target: "atomic_breaker::rejection",
        Level::INFO,
        circuit_breaker.name = whose.name,
        circuit_breaker.key = whose.key,
        circuit_breaker.state = state_name(state),
        circuit_breaker.enforcement = mode.name(),
        circuit_breaker.retry_in = retry_in,
        circuit_breaker.rejections_left_out = some(left_out),
        "{message}"
    );
}

/// Says how many were left out since the last event, when there will be no further event.
pub(super) fn left_out(whose: Whose<'_>, left_out: u64) {
    if left_out == 0 {
        return;
    }
    tracing::event!(
        target: "atomic_breaker::rejection",
        Level::INFO,
        circuit_breaker.name = whose.name,
        circuit_breaker.key = whose.key,
        circuit_breaker.rejections_left_out = left_out,
        "rejections that were left out"
    );
}

pub(super) fn some(count: u64) -> Option<u64> {
    (count != 0).then_some(count)
}
