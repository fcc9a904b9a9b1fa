//! The events. Their fields are evaluated only if a subscriber wants them.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use atomic_breaker_server::{Cause, Rejected, State, Transition, redact::printable};
use tracing::Level;

use super::sampler::Sampler;
use crate::label::{Mode, label};

/// Opening is a warning, and so is a corrupt word. The next rejection is the first of an open period.
pub(super) fn transition(
    name: &str,
    key: Option<&dyn fmt::Display>,
    transition: &Transition,
    last_failure: Option<&str>,
    sampler: Option<&Sampler>,
) {
    let opens = matches!(transition.to, State::Open | State::ForcedOpen);
    if let Some(sampler) = sampler.filter(|_| opens) {
        sampler.begin();
    }
    // A level is part of an event's static description.
    macro_rules! event {
        ($level:expr) => {
            tracing::event!(
                target: "atomic_breaker::transition",
                $level,
                circuit_breaker.name = name,
                circuit_breaker.key = key.map(printable),
                circuit_breaker.previous_state = label(transition.from),
                circuit_breaker.state = label(transition.to),
                circuit_breaker.cause = label(transition.cause),
                circuit_breaker.open_duration = transition.open_for().map(|time| time.as_secs_f64()),
                circuit_breaker.trips = transition.trips,
                circuit_breaker.epoch = transition.epoch,
                circuit_breaker.last_failure = last_failure.map(printable),
                circuit_breaker.rejections_left_out = sampler.and_then(|it| NonZeroU64::new(it.take_left_out())),
                "{transition}"
            )
        };
    }
    if opens || transition.cause == Cause::CorruptWord {
        event!(Level::WARN);
    } else {
        event!(Level::INFO);
    }
}

/// Whether any subscriber wants events for rejections.
pub(super) fn wants_rejections() -> bool {
    tracing::event_enabled!(target: "atomic_breaker::rejection", Level::INFO)
}

pub(super) fn rejection(
    name: &str,
    key: Option<&str>,
    rejected: Rejected,
    mode: Mode,
    left_out: u64,
) {
    let message = match mode {
        Mode::Enforced => "rejected",
        Mode::Shadow => "would have been rejected, passes in shadow mode",
        Mode::Partial => "rejected, or passes in shadow mode",
    };
    tracing::event!(
        target: "atomic_breaker::rejection",
        Level::INFO,
        circuit_breaker.name = name,
        circuit_breaker.key = key,
        circuit_breaker.state = label(rejected.state()),
        circuit_breaker.enforcement = label(mode),
        circuit_breaker.retry_in = rejected.retry_in().as_ref().map(Duration::as_secs_f64),
        circuit_breaker.rejections_left_out = NonZeroU64::new(left_out),
        "{message}"
    );
}

/// Says how many were left out since the last event, if there will be no further event.
pub(super) fn left_out(name: &str, key: Option<&str>, sampler: &Sampler) {
    if let Some(left_out) = NonZeroU64::new(sampler.take_left_out()) {
        tracing::event!(
            target: "atomic_breaker::rejection",
            Level::INFO,
            circuit_breaker.name = name,
            circuit_breaker.key = key,
            circuit_breaker.rejections_left_out = left_out,
            "rejections that were left out"
        );
    }
}
