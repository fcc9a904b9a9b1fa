// SPDX-License-Identifier: MIT OR Apache-2.0
//! The passing of time in a history.

use std::time::Duration;

use atomic_breaker::Wait;
use atomic_breaker::word::Word;
use tests::reference::{Mode, Trip};

use super::event::Event;
use super::pair::{Memory, Pair};

/// No single event moves the clock further, so that the whole history stays in range. It is 200 days, four
/// wraps of the 64-bit word.
const MOST_AT_ONCE: u64 = 200 * 86_400_000;

impl<W: Word, T: Memory> Pair<W, T> {
    pub(crate) fn pass_time(&mut self, event: Event) {
        let now = self.reference.now;
        match event {
            Event::Advance(ms) => self.advance(ms),
            Event::AdvanceToDeadline(more) => {
                let wait = self.reference.wait().and_then(at_last);
                let wait = wait.map_or(0, |wait| wait.as_millis() as u64);
                self.advance(wait.saturating_add_signed(more));
            }
            Event::AdvanceToEdge(which, more) => {
                let edge = self.edge(which).saturating_add_signed(more);
                self.advance(edge.saturating_sub(now));
            }
            Event::AdvanceToWrap(wraps, ticks, ms) => {
                let grain = self.reference.rules.grain;
                let far = wraps * grain.wrap.map_or(0, |wrap| wrap.ticks) + ticks;
                let to = self.stored().saturating_add_signed(far) * grain.tick + ms;
                self.advance(to.saturating_sub(now));
            }
            Event::StepBack(ms) => {
                self.reference.now -= ms;
                self.clock.clock.step_back(Duration::from_millis(ms));
            }
            _ => {}
        }
    }

    fn advance(&mut self, ms: u64) {
        let ms = ms.min(MOST_AT_ONCE);
        self.reference.now += ms;
        self.clock.clock.advance(Duration::from_millis(ms));
    }

    /// The tick that the word holds, or the current one.
    fn stored(&self) -> u64 {
        match self.reference.mode {
            Mode::Closed {
                window_began: time, ..
            }
            | Mode::Open { began: time, .. }
            | Mode::Returning { began: time, .. }
            | Mode::Probing { last: time, .. }
                if time != 0 =>
            {
                time
            }
            _ => self.reference.now / self.reference.rules.grain.tick,
        }
    }

    /// The times, in milliseconds, at which a period ends that is measured from the time in the word or from a
    /// call's start.
    fn edge(&self, which: usize) -> u64 {
        let rules = &self.reference.rules;
        let since = self.stored() * rules.grain.tick;
        let window = match rules.trip {
            Trip::Within(_, time) | Trip::Lasting(_, time) => time,
            _ => 0,
        };
        let start = self.held.last().and_then(|(_, permit)| permit.started);
        let edges = [
            since + window,
            since + rules.cancel_limit,
            since + rules.lease,
            since + rules.returning.map_or(0, |back| back.over / 2),
            since + rules.growth.map_or(0, |_| rules.open_for),
            start.unwrap_or(since) + rules.slow.unwrap_or(0),
        ];
        edges[which % edges.len()]
    }
}

/// The longest wait until a caller gets through.
fn at_last(wait: Wait) -> Option<Duration> {
    match wait {
        Wait::For(time) | Wait::AtMost(time) => Some(time),
        Wait::UntilReleased => None,
    }
}
