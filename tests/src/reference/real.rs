// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same terms for the real breaker.

use std::time::Duration;

use atomic_breaker::{Control, Failure, Outcome, Transition};

use super::{Command, Notice, Report};

/// A report as the real breaker takes it.
pub fn outcome(report: Report) -> Outcome {
    match report {
        Report::Success => Outcome::Success,
        Report::Failure(weight) => Failure::with_weight(weight as u16).into(),
        Report::Slow => Failure::slow().into(),
        Report::TripAtOnce => Failure::tripping().into(),
        Report::TripFor(time) => Failure::tripping_for(Duration::from_millis(time)).into(),
        Report::RetryAfter(time) => Failure::retry_after(Duration::from_millis(time)).into(),
        Report::Nothing => Outcome::Ignored,
    }
}

/// Gives a command to the real breaker.
pub fn command(breaker: &impl Control, command: Command) -> Option<Transition> {
    match command {
        Command::Trip => breaker.trip(),
        Command::TripFor(time) => breaker.trip_for(Duration::from_millis(time)),
        Command::ForceOpen => breaker.force_open(),
        Command::Release => breaker.release(),
        Command::Reset => breaker.reset(),
        Command::Disable => breaker.disable(),
        Command::Enable => breaker.enable(),
        Command::ProbeNow => breaker.probe_now(),
        Command::ProbeEarly => breaker.probe_early(),
    }
}

impl From<&Transition> for Notice {
    fn from(transition: &Transition) -> Self {
        Self {
            from: transition.from,
            to: transition.to,
            cause: transition.cause,
            trips: transition.trips.into(),
            open_for: transition.open_for_ms.into(),
        }
    }
}
