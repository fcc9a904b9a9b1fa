//! What became of a scenario.

use std::fmt;
use std::time::Duration;

use atomic_breaker::State;

use super::Scenario;
use crate::figures::Figures;
use crate::guard::Change;

/// What became of a scenario. `{report}` in an assertion says why it failed.
#[derive(Clone, Debug)]
#[must_use]
pub struct Report {
    scenario: Scenario,
    figures: Figures,
    changes: Vec<Change>,
    /// When the calls of the outage began.
    made: Vec<u64>,
    longest_us: u32,
}

impl Report {
    pub(super) const fn new(
        scenario: Scenario,
        figures: Figures,
        changes: Vec<Change>,
        made: Vec<u64>,
        longest_us: u32,
    ) -> Self {
        Self {
            scenario,
            figures,
            changes,
            made,
            longest_us,
        }
    }

    /// The moment at which it opened because of the outage.
    fn opened_us(&self) -> Option<u64> {
        let begins = self.scenario.begins_us();
        let mut changes = self.changes.iter();
        let opened = changes.find(|it| it.at_us >= begins && it.transition.to == State::Open);
        opened.map(|it| it.at_us)
    }

    /// Whether it opened after the outage had begun.
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

    /// How long it took from the beginning of the outage until the breaker opened; `Duration::MAX` if it did not.
    pub fn time_until_open(&self) -> Duration {
        self.opened_us().map_or(Duration::MAX, |opened| {
            Duration::from_micros(opened - self.scenario.begins_us())
        })
    }

    /// The calls that were made in vain, probes included.
    pub const fn wasted(&self) -> u64 {
        self.figures.wasted
    }

    /// The time that callers waited in vain.
    pub const fn wasted_time(&self) -> Duration {
        self.figures.wasted_time()
    }

    /// The calls that were rejected though they would have been answered: after the outage, or when it tripped without one.
    pub const fn healthy_rejected(&self) -> u64 {
        self.figures.healthy_rejected
    }

    /// The longest call of the outage.
    pub const fn longest_call(&self) -> Duration {
        Duration::from_micros(self.longest_us as u64)
    }

    /// How long it took from the end of the outage until the breaker was closed for good, with all traffic let through: zero
    /// if it was closed, `Duration::MAX` if it was not by the end of the scenario.
    pub fn time_until_closed(&self) -> Duration {
        if !self.is_closed() {
            return Duration::MAX;
        }
        let closed = self.changes.last().map_or(0, |last| last.at_us);
        Duration::from_micros(closed.saturating_sub(self.scenario.ends_us()))
    }

    /// Whether it is closed at the end of the scenario.
    pub fn is_closed(&self) -> bool {
        let last = self.changes.last();
        last.is_none_or(|last| last.transition.to == State::Closed)
    }

    /// How often it opened that let calls through before, also without an outage.
    pub fn trips(&self) -> usize {
        self.changes.iter().filter(|it| it.is_trip()).count()
    }

    /// How often it became half-open to let probes through.
    pub fn rounds_of_probes(&self) -> usize {
        let half_open = |it: &&Change| it.transition.to == State::HalfOpen;
        self.changes.iter().filter(half_open).count()
    }

    /// All counts.
    pub const fn figures(&self) -> Figures {
        self.figures
    }

    /// What the breaker did, in the order of time; in microseconds since the beginning of the scenario.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

/// So many changes are shown.
const MOST: usize = 12;

impl fmt::Display for Report {
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
        for change in self.changes.iter().take(MOST) {
            let at = Duration::from_micros(change.at_us);
            write!(f, "\n  {at:?}: {}", change.transition)?;
        }
        match self.changes.len().checked_sub(MOST) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "\n  and {more} more"),
        }
    }
}
