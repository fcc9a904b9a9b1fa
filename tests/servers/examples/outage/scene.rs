// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sequence of events.

use std::time::Duration;

/// The events, as modes, and their times.
pub(crate) struct Scene<M: 'static> {
    /// The modes in order, and from when on each holds.
    pub(crate) timeline: &'static [(Duration, M)],
    /// The time at which it is over.
    pub(crate) end: Duration,
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl<M: Copy> Scene<M> {
    /// The mode at a time.
    pub(crate) fn mode_at(&self, time: Duration) -> M {
        let begun = self.timeline.iter().rev().find(|(from, _)| *from <= time);
        begun.map_or(self.timeline[0].1, |(_, mode)| *mode)
    }

    /// Each mode with its start and end.
    pub(crate) fn modes(&self) -> impl Iterator<Item = (Duration, Duration, M)> {
        let ends = self.timeline.iter().skip(1).map(|(from, _)| *from);
        let ends = ends.chain([self.end]);
        self.timeline
            .iter()
            .zip(ends)
            .map(|((from, mode), until)| (*from, until, *mode))
    }

    /// The time at which the last mode begins: the server is back.
    pub(crate) fn recovery(&self) -> Duration {
        self.timeline.last().map_or(self.end, |(from, _)| *from)
    }
}
