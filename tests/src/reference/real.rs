//! The same words for the real breaker.

use std::time::Duration;

use atomic_breaker::{Control, Failure, Outcome, Transition};

use super::{Order, Report, Told};

/// A report as the real breaker takes it.
pub fn outcome(report: Report) -> Outcome {
    match report {
        Report::Success => Outcome::Success,
        Report::Failure(weight) => Failure::with_weight(weight as u16).into(),
        Report::TripAtOnce => Failure::tripping().into(),
        Report::RetryAfter(time) => Failure::retry_after(Duration::from_millis(time)).into(),
        Report::Nothing => Outcome::Ignored,
    }
}

/// Gives an order to the real breaker.
pub fn obey(breaker: &impl Control, order: Order) -> Option<Transition> {
    match order {
        Order::Trip => breaker.trip(),
        Order::TripFor(time) => breaker.trip_for(Duration::from_millis(time)),
        Order::ForceOpen => breaker.force_open(),
        Order::Release => breaker.release(),
        Order::Reset => breaker.reset(),
        Order::Disable => breaker.disable(),
        Order::Enable => breaker.enable(),
        Order::ProbeNow => breaker.probe_now(),
        Order::ProbeEarly => breaker.probe_early(),
    }
}

impl From<&Transition> for Told {
    fn from(told: &Transition) -> Self {
        Self {
            from: told.from,
            to: told.to,
            cause: told.cause,
            trips: told.trips.into(),
            open_for: told.open_for_ms.into(),
        }
    }
}
