// SPDX-License-Identifier: MIT OR Apache-2.0
//! The visible state of a breaker, the same for the real one and the reference.

use std::time::Duration;

use atomic_breaker::{Snapshot, State, Wait};

use super::{Mode, Reference, Trip};

/// A snapshot, field by field. All times but the waits are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// As the next call meets it.
    pub state: State,
    /// The state to which the last transition led.
    pub entered: State,
    pub failures: u32,
    pub in_flight: usize,
    pub successes: u32,
    pub lost_rounds: u32,
    pub trips: u32,
    /// A clock reading, modulo 2³².
    pub opened_at: Option<u32>,
    pub open_for: Option<u64>,
    pub is_demanded: bool,
    pub returning_percent: Option<u64>,
    pub wait: Option<Wait>,
    pub retry_in: Option<Duration>,
    pub is_due: bool,
}

impl From<Snapshot> for View {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            state: snapshot.state(),
            entered: snapshot.entered(),
            failures: snapshot.failures().into(),
            in_flight: snapshot.probes_in_flight().into(),
            successes: snapshot.successes().into(),
            lost_rounds: snapshot.lost_rounds().into(),
            trips: snapshot.trips().into(),
            opened_at: snapshot.opened_at_ms(),
            open_for: snapshot.open_for().map(|time| time.as_millis() as u64),
            is_demanded: snapshot.is_demanded(),
            returning_percent: snapshot.returning_percent().map(u64::from),
            wait: snapshot.wait(),
            retry_in: snapshot.retry_in(),
            is_due: snapshot.is_due(),
        }
    }
}

/// The time after which a caller that has to wait should retry: soon if a slot may be free, but not so
/// soon that retries multiply the calls while a share of them passes.
pub fn retry_in(state: State, wait: Wait) -> Option<Duration> {
    let ms = Duration::from_millis;
    match wait {
        Wait::For(time) => Some(time),
        Wait::AtMost(time) if state == State::Returning => {
            Some(ms((time.as_millis() as u64).div_ceil(2)))
        }
        Wait::AtMost(time) => Some(time.min(ms(100))),
        Wait::UntilReleased => None,
    }
}

impl Reference {
    /// The visible state.
    pub fn view(&self) -> View {
        let wait = self.wait();
        let entered = self.state();
        let mut view = View {
            state: match (entered, wait) {
                (State::Open, None) => State::HalfOpen,
                _ => entered,
            },
            entered,
            failures: 0,
            in_flight: 0,
            successes: 0,
            lost_rounds: 0,
            trips: self.trips,
            opened_at: None,
            open_for: None,
            is_demanded: false,
            returning_percent: None,
            wait,
            retry_in: wait.map_or(Some(Duration::ZERO), |wait| retry_in(self.state(), wait)),
            is_due: false,
        };
        match &self.mode {
            Mode::Closed { failures, .. } => view.failures = *failures,
            Mode::Open {
                began,
                lasts,
                demanded,
            } => {
                view.opened_at = Some(self.reading(*began));
                view.open_for = Some(lasts * self.rules.grain.tick);
                view.is_demanded = *demanded;
                view.is_due = wait.is_none();
            }
            Mode::Probing {
                out,
                successes,
                lost_rounds,
                ..
            } => {
                view.in_flight = out.len();
                view.successes = *successes;
                view.lost_rounds = *lost_rounds;
                view.is_due = wait.is_none();
            }
            Mode::Returning { failures, .. } => {
                view.failures = match (self.age_when_reached(), self.rules.trip) {
                    (Some(_), Trip::Lasting(limit, _)) => limit,
                    _ => *failures,
                };
                view.returning_percent = Some(self.percent());
            }
            Mode::Held(_) => {}
        }
        view
    }

    /// The share of calls that pass while traffic returns.
    fn percent(&self) -> u64 {
        let Some(back) = self.rules.returning else {
            return 100;
        };
        let over = back.ticks(self.rules.grain);
        let age = self.return_age().min(over);
        (back.first_percent * (over - age) + 100 * age) / over
    }
}
