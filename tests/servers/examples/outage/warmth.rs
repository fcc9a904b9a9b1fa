// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load that a server can bear when it has just started.

use std::time::{Duration, Instant};

/// The properties of a cold server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strength {
    /// Calls are counted again after this time.
    pub(crate) period: Duration,
    /// Calls that it bears within a period while it is cold.
    pub(crate) at_first: u32,
    /// After this many responses, which fill its caches, it bears one call more.
    pub(crate) answers_for_one_more: u32,
    /// The time for which it is broken down.
    pub(crate) down: Duration,
}

/// A server that breaks down for a while when overloaded, and is cold again.
#[derive(Debug)]
pub(crate) struct Warmth {
    strength: Strength,
    answered: u32,
    /// The start of this period, and the calls in it.
    period: (Instant, u32),
    /// Broken down until then.
    down_until: Option<Instant>,
    pub(crate) breakdowns: usize,
}

impl Warmth {
    pub(crate) fn new(strength: Strength) -> Self {
        Self {
            strength,
            answered: 0,
            period: (Instant::now(), 0),
            down_until: None,
            breakdowns: 0,
        }
    }

    /// Calls that it can serve within a period.
    const fn bearable(&self) -> u32 {
        self.strength.at_first + self.answered / self.strength.answers_for_one_more
    }

    pub(crate) fn bears_one_more(&mut self, now: Instant) -> bool {
        if self.down_until.is_some_and(|until| now < until) {
            return false;
        }
        if self.down_until.take().is_some() {
            self.answered = 0;
            self.period = (now, 0);
        }
        if now - self.period.0 >= self.strength.period {
            self.period = (now, 0);
        }
        self.period.1 += 1;
        if self.period.1 > self.bearable() {
            self.down_until = Some(now + self.strength.down);
            self.breakdowns += 1;
            return false;
        }
        self.answered += 1;
        true
    }
}
