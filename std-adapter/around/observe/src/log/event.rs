// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events. Their fields are evaluated only if a subscriber wants them.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use atomic_breaker_server::{Cause, FailedCall, Rejected, State, Transition, redact::printable};
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

/// Returns whether any subscriber wants events for rejections.
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

/// Returns whether any subscriber wants a sample of the failed calls.
pub(super) fn wants_failures() -> bool {
    tracing::event_enabled!(target: "atomic_breaker::failure", Level::INFO)
}

pub(super) fn failure(name: &str, key: Option<&str>, failed: &FailureSeen<'_>, left_out: u64) {
    let text = failed.text();
    tracing::event!(
        target: "atomic_breaker::failure",
        Level::INFO,
        circuit_breaker.name = name,
        circuit_breaker.key = key,
        circuit_breaker.probe = failed.is_probe(),
        circuit_breaker.duration = failed.took().map(|time| time.as_secs_f64()),
        circuit_breaker.failures_left_out = NonZeroU64::new(left_out),
        error.r#type = error_type(failed.is_slow(), &text),
        error = text,
        "a call failed"
    );
}

/// Returns whether any subscriber wants an event for each call that failed or was rejected, such as one that adds them
/// to spans.
pub(super) fn wants_calls() -> bool {
    tracing::event_enabled!(target: "atomic_breaker::call", Level::DEBUG)
}

pub(super) fn failed_call(name: &str, key: Option<&dyn fmt::Display>, failed: &FailureSeen<'_>) {
    let text = failed.text();
    tracing::event!(
        target: "atomic_breaker::call",
        Level::DEBUG,
        circuit_breaker.name = name,
        circuit_breaker.key = key.map(printable),
        circuit_breaker.probe = failed.is_probe(),
        circuit_breaker.duration = failed.took().map(|time| time.as_secs_f64()),
        error.r#type = error_type(failed.is_slow(), &text),
        error = text,
        "call failed"
    );
}

pub(super) fn rejected_call(
    name: &str,
    key: Option<&dyn fmt::Display>,
    rejected: Rejected,
    mode: Mode,
) {
    let message = match mode {
        Mode::Enforced => "call rejected",
        Mode::Shadow => "call passes in shadow mode",
        Mode::Partial => "call rejected, or passes in shadow mode",
    };
    tracing::event!(
        target: "atomic_breaker::call",
        Level::DEBUG,
        circuit_breaker.name = name,
        circuit_breaker.key = key.map(printable),
        circuit_breaker.state = label(rejected.state()),
        circuit_breaker.enforcement = label(mode),
        circuit_breaker.retry_in = rejected.retry_in().as_ref().map(Duration::as_secs_f64),
        error.r#type = matches!(mode, Mode::Enforced).then_some("rejected"),
        "{message}"
    );
}

pub(super) fn succeeded_call(name: &str, key: Option<&dyn fmt::Display>) {
    tracing::event!(
        target: "atomic_breaker::call",
        Level::DEBUG,
        circuit_breaker.name = name,
        circuit_breaker.key = key.map(printable),
        "call succeeded"
    );
}

/// A failed call, or a slow one of which nothing else is known.
pub(super) enum FailureSeen<'a> {
    Call(&'a FailedCall<'a>),
    Slow,
}

impl FailureSeen<'_> {
    fn is_slow(&self) -> bool {
        match self {
            Self::Call(failed) => failed.failure().is_slow(),
            Self::Slow => true,
        }
    }

    fn is_probe(&self) -> Option<bool> {
        match self {
            Self::Call(failed) => Some(failed.is_probe()),
            Self::Slow => None,
        }
    }

    fn took(&self) -> Option<Duration> {
        match self {
            Self::Call(failed) => failed.took(),
            Self::Slow => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Call(failed) => printable(failed.why()),
            Self::Slow => "too slow".to_owned(),
        }
    }
}

/// The kind of a failure, one of few: what the words of this family's reporters begin with, or `_OTHER` as in
/// OpenTelemetry's conventions.
fn error_type(is_slow: bool, text: &str) -> &str {
    if is_slow {
        return "slow";
    }
    let error = text.strip_prefix("transport: ").unwrap_or(text);
    if error.starts_with("timed out") || error.ends_with("timed out") {
        return "timeout";
    }
    let mut words = text.split(' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    match first {
        status if is_status(status, second) => status,
        "grpc" => second.filter(|code| is_code(code)).unwrap_or(OTHER_TYPE),
        "no" if text.starts_with("no response") => "timeout",
        "transport:" => "transport",
        "panicked" | "panicked:" => "panic",
        _ => OTHER_TYPE,
    }
}

const OTHER_TYPE: &str = "_OTHER";

/// "503 Service Unavailable", and not "100 calls in flight".
fn is_status(word: &str, next: Option<&str>) -> bool {
    let is_number = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number && next.is_none_or(|next| next.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// A code of gRPC, such as `UNAVAILABLE`.
fn is_code(word: &str) -> bool {
    word.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The events that are sampled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sampled {
    Rejections,
    Failures,
}

impl Sampled {
    /// The number of events of a breaker or key that are logged in each interval.
    pub(super) const fn most(self) -> u64 {
        match self {
            Self::Rejections => 1,
            Self::Failures => 3,
        }
    }
}

/// Says how many were left out since the last event, if there will be no further event.
pub(super) fn left_out(what: Sampled, name: &str, key: Option<&str>, sampler: &Sampler) {
    let Some(left_out) = NonZeroU64::new(sampler.take_left_out()) else {
        return;
    };
    match what {
        Sampled::Rejections => tracing::event!(
            target: "atomic_breaker::rejection",
            Level::INFO,
            circuit_breaker.name = name,
            circuit_breaker.key = key,
            circuit_breaker.rejections_left_out = left_out,
            "rejections that were left out"
        ),
        Sampled::Failures => tracing::event!(
            target: "atomic_breaker::failure",
            Level::INFO,
            circuit_breaker.name = name,
            circuit_breaker.key = key,
            circuit_breaker.failures_left_out = left_out,
            "failures that were left out"
        ),
    }
}
