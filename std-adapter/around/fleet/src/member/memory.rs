// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a member beside the period that it follows: news from the engine, and the findings of its own calls.

/// The marks of the last periods that have ended, the latest first. A period further back, if an engine falls back to
/// it, is new to every instance.
pub(crate) type EndedPeriods = [Option<u64>; 8];

/// The latest news from the engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeardFromEngine {
    /// The highest epoch so far.
    pub(crate) highest_epoch: u64,
    /// The latest epoch: of published messages, only a later one is news. Falls back with the engine.
    pub(crate) last_epoch: u64,
    /// The time of the latest news.
    pub(crate) at: Option<u64>,
    /// The mark of a period that no longer binds this instance: its own probe has succeeded, or an operator intervened.
    pub(crate) overruled: Option<u64>,
    pub(crate) ended: EndedPeriods,
}

impl HeardFromEngine {
    /// Remembers that a period has ended.
    pub(super) fn end(&mut self, mark: u64) {
        if !self.ended.contains(&Some(mark)) {
            self.ended.rotate_right(1);
            self.ended[0] = Some(mark);
        }
    }
}

/// The findings of this instance's own calls and operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// The time at which it last tripped because of its own outcomes, and the time until which it is open for that
    /// reason.
    pub(crate) tripped_at: u64,
    pub(crate) open_until: u64,
    /// No probe before this time: a failure, an operator, or this instance's own probe outside the fleet demanded it.
    pub(crate) no_probe_before: u64,
    /// Its own probe failed or hung: until this time it leaves the next one to others.
    pub(crate) yields_until: u64,
    /// `true` if its own probe failed or hung in this outage; if so, it bids half a grace after the others in each of
    /// the outage's periods.
    pub(crate) has_failed: bool,
}

impl Own {
    /// The outage is over here.
    pub(super) fn end_outage(&mut self) {
        self.yields_until = 0;
        self.has_failed = false;
    }

    /// Clears every local reason to reject calls.
    pub(super) fn clear(&mut self) {
        self.open_until = 0;
        self.no_probe_before = 0;
        self.end_outage();
    }
}
