// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of a scenario.

use std::fmt;
use std::time::Duration;

use atomic_breaker::State;

use super::breakers::StateChange;
use super::call::{Completion, PlannedCall};
use super::figures::Figures;
use super::scenario::Scenario;

/// The report of a scenario. `{report}` in an assertion shows the reason of a failure.
#[derive(Clone, Debug)]
#[must_use]
pub struct SimulationReport {
    scenario: Scenario,
    /// The length of a gradual return, in microseconds; 0 without one.
    return_us: u64,
    figures: Figures,
    pub(crate) changes: Vec<StateChange>,
    /// The times at which the calls of the outage began that were made.
    made: Vec<u64>,
    /// The longest of them, in microseconds.
    longest_us: u32,
}

impl SimulationReport {
    pub(crate) fn new(scenario: Scenario, return_us: u64) -> Self {
        Self {
            scenario,
            return_us,
            figures: Figures::default(),
            changes: Vec::new(),
            made: Vec::new(),
            longest_us: 0,
        }
    }

    pub(crate) fn add(&mut self, call: &PlannedCall, completion: Option<Completion>) {
        self.figures.add(call, completion, self.scenario.useful());
        if let Some(completion) = completion.filter(|_| self.scenario.is_outage(call.start_us)) {
            self.made.push(call.start_us);
            self.longest_us = self.longest_us.max(completion.duration_us);
        }
    }

    /// The time at which the breaker opened because of the outage, in microseconds since the beginning.
    fn opened_us(&self) -> Option<u64> {
        let begins = self.scenario.begins_us();
        let mut changes = self.changes.iter();
        let opened = changes.find(|it| it.at_us >= begins && it.transition.to == State::Open);
        opened.map(|it| it.at_us)
    }

    /// Returns whether the breaker opened after the outage had begun.
    pub fn opened(&self) -> bool {
        self.opened_us().is_some()
    }

    /// The calls that were made from the beginning of the outage until the breaker opened; `usize::MAX` if it did not open.
    pub fn calls_before_open(&self) -> usize {
        let Some(opened) = self.opened_us() else {
            return usize::MAX;
        };
        self.made.iter().filter(|made| **made < opened).count()
    }

    /// The time from the beginning of the outage until the breaker opened; `Duration::MAX` if it did not open.
    pub fn time_until_open(&self) -> Duration {
        self.opened_us().map_or(Duration::MAX, |opened| {
            Duration::from_micros(opened - self.scenario.begins_us())
        })
    }

    /// The calls that failed or were answered too late to be useful, probes included.
    pub const fn wasted(&self) -> u64 {
        self.figures.wasted
    }

    /// The time that callers spent in wasted calls.
    pub const fn wasted_time(&self) -> Duration {
        self.figures.wasted_time()
    }

    /// The calls that were rejected though they would have been answered: after the outage, or because the breaker tripped
    /// without one.
    pub const fn healthy_rejected(&self) -> u64 {
        self.figures.healthy_rejected
    }

    /// The longest call that was made during the outage.
    pub const fn longest_call(&self) -> Duration {
        Duration::from_micros(self.longest_us as u64)
    }

    /// The time from the end of the outage until the breaker let all traffic through for good: zero if it did at once,
    /// `Duration::MAX` if it did not at the end of the scenario. Its trips need not be forgotten by then.
    pub fn time_until_closed(&self) -> Duration {
        self.closed_us().map_or(Duration::MAX, |closed| {
            Duration::from_micros(closed.saturating_sub(self.scenario.ends_us()))
        })
    }

    /// Returns whether the breaker lets all traffic through at the end of the scenario: it is closed, or its gradual
    /// return is over, if it has one, and its trips are not forgotten yet.
    pub fn is_closed(&self) -> bool {
        self.closed_us().is_some()
    }

    /// The time since which all traffic passes, in microseconds since the beginning.
    fn closed_us(&self) -> Option<u64> {
        let passes = |change: &StateChange| match change.transition.to {
            State::Closed => Some(change.at_us),
            State::Returning => Some(change.at_us + self.return_us),
            _ => None,
        };
        let Some(last) = self.changes.last() else {
            return Some(0);
        };
        let since = self.changes.iter().rev().map_while(passes).min()?;
        // The last calls end later than they begin.
        (since <= self.scenario.over_us().max(last.at_us)).then_some(since)
    }

    /// The number of times that the breaker opened after it had let calls through, also without an outage.
    pub fn trips(&self) -> usize {
        self.changes.iter().filter(|it| it.is_trip()).count()
    }

    /// The number of times that the breaker became half-open to let probes through.
    pub fn rounds_of_probes(&self) -> usize {
        let half_open = |it: &&StateChange| it.transition.to == State::HalfOpen;
        self.changes.iter().filter(half_open).count()
    }

    /// The counts of the whole scenario.
    pub const fn figures(&self) -> Figures {
        self.figures
    }

    /// The breaker's changes of state, in the order of time.
    pub fn changes(&self) -> &[StateChange] {
        &self.changes
    }
}

/// The number of changes that `Display` shows.
const SHOWN: usize = 12;

impl fmt::Display for SimulationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.opened() {
            let (time, calls) = (self.time_until_open(), self.calls_before_open());
            write!(
                f,
                "opened {time:?} after the outage began, after {calls} calls"
            )?;
        } else {
            let calls = self.made.len();
            write!(
                f,
                "did not open, and {calls} calls were made during the outage"
            )?;
        }
        if self.is_closed() {
            write!(f, "; closed {:?} after it ended", self.time_until_closed())?;
        } else {
            f.write_str("; not closed at the end")?;
        }
        write!(
            f,
            "; {} of {} calls wasted, {:?} waited in vain, {} healthy calls rejected; longest call of the outage {:?}; {} \
             trips, {} rounds of probes",
            self.wasted(),
            self.figures.calls,
            self.wasted_time(),
            self.healthy_rejected(),
            self.longest_call(),
            self.trips(),
            self.rounds_of_probes()
        )?;
        for change in self.changes.iter().take(SHOWN) {
            let at = Duration::from_micros(change.at_us);
            write!(f, "\n  {at:?}: {}", change.transition)?;
        }
        match self.changes.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "\n  and {more} more"),
        }
    }
}
