// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times, which are stored in ticks and seen through the word.

use super::{Permit, Reference, Wrap};

impl Reference {
    /// The tick to store for now, rounded up.
    pub(super) fn stamp(&self) -> u64 {
        self.rules.grain.up(self.now)
    }

    /// The number of ticks since a stored tick; negative when it is ahead.
    pub(super) fn age(&self, then: u64) -> i64 {
        self.seen(self.now / self.rules.grain.tick, then)
    }

    /// The ticks from one to another, seen through the word.
    pub(super) fn seen(&self, tick: u64, then: u64) -> i64 {
        let age = tick.cast_signed() - then.cast_signed();
        let Some(Wrap { ticks, guard }) = self.rules.grain.wrap else {
            return age;
        };
        let seen = age.rem_euclid(ticks);
        if ticks - seen <= guard {
            seen - ticks
        } else {
            seen
        }
    }

    /// Returns whether two stored ticks look the same in the word.
    pub(super) fn looks_same(&self, one: u64, other: u64) -> bool {
        match self.rules.grain.wrap {
            Some(wrap) => (one.cast_signed() - other.cast_signed()) % wrap.ticks == 0,
            None => one == other,
        }
    }

    /// Milliseconds until this many ticks have passed since a stored one.
    pub(super) fn left(&self, since: u64, wait: u64) -> u64 {
        let ticks = wait.cast_signed() - self.age(since);
        let ms = ticks * self.rules.grain.tick.cast_signed();
        let into_this_tick = (self.now % self.rules.grain.tick).cast_signed();
        (ms - into_this_tick).max(0).cast_unsigned()
    }

    /// The clock reading at a stored tick, modulo 2³².
    pub(super) fn reading(&self, tick: u64) -> u32 {
        let ms = self.rules.grain.tick;
        let age = self.age(tick) * ms.cast_signed();
        (self.now - self.now % ms).wrapping_add_signed(-age) as u32
    }

    /// Returns whether a call was slow by the current rules.
    pub(super) fn was_slow(&self, permit: Permit) -> bool {
        match (permit.started, self.rules.slow) {
            (Some(started), Some(limit)) => self.took(started) >= limit,
            _ => false,
        }
    }

    /// The duration of a call; 0 when the clock stepped back.
    fn took(&self, started: u64) -> u64 {
        let Some(_) = self.rules.grain.wrap else {
            return self.now.saturating_sub(started);
        };
        // The clock's own readings wrap, too; more than half their range is a step back.
        let seen = self.now.wrapping_sub(started) % (1 << 32);
        if seen < 1 << 31 { seen } else { 0 }
    }
}
