//! Times that wrap: from the clock's milliseconds to the ticks in the word and back.
//!
//! The word keeps a time in few bits, so it wraps (49.7 days in the 64-bit word, 35 minutes in the
//! 32-bit word with its default tick). Two rules keep that honest:
//!
//! - **Ages are never overstated.** A stored time is rounded up to a tick, a reading is rounded
//!   down, a duration is rounded up. So nothing happens early: an open time, a lease and a window
//!   last at least as long as configured and at most two ticks longer.
//! - **A reading just behind a stored time is a step back of the clock**, not great age: readings of
//!   two threads cross, and rounding up looks the same. The guard band is 65.5 s in the 64-bit
//!   word and 64 ticks (4.1 s) in the 32-bit word. Until the clock has caught up, the time left
//!   grows by what the clock stepped back.
//!
//! What follows for a breaker that nobody calls for long: with a wrap of `R`, a call between
//! `k·R - guard` and `k·R + open_for` after the trip reads like a call just after it, and is
//! refused for up to `guard + open_for` more; a call at any other time is right. A window of
//! failures, a lease and the age of a probe err in the same way. The gate never opens early unless
//! the clock steps back by more than the guard band.

use core::marker::PhantomData;

use crate::config::Config;
use crate::word::Bits;

/// Converts and compares times for one layout and tick.
pub(crate) struct Timeline<B> {
    /// Binary logarithm of the tick in milliseconds.
    shift: u32,
    bits: PhantomData<B>,
}

impl<B> Clone for Timeline<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Timeline<B> {}

/// How far a reading is from a stored time.
enum Distance {
    After(u32),
    /// The clock stepped back, or the stored time was rounded up.
    Before(u32),
}

impl<B: Bits> Timeline<B> {
    const MASK: u32 = B::LAYOUT.time.max();
    const GUARD: u32 = B::LAYOUT.guard;
    const MAX_TICKS: u32 = B::LAYOUT.max_ticks();

    pub(crate) const fn new(config: &Config) -> Self {
        Self {
            shift: config.tick_log2(B::LAYOUT),
            bits: PhantomData,
        }
    }

    const fn below_a_tick(self) -> u32 {
        (1 << self.shift) - 1
    }

    /// The time to store for a reading.
    pub(crate) fn stamp(self, now_ms: u32) -> u32 {
        (now_ms.wrapping_add(self.below_a_tick()) >> self.shift) & Self::MASK
    }

    /// A duration in ticks, rounded up, at most what the word can tell.
    pub(crate) const fn ticks(self, ms: u32) -> u32 {
        let ticks = (ms >> self.shift) + (ms & self.below_a_tick() != 0) as u32;
        if ticks > Self::MAX_TICKS {
            Self::MAX_TICKS
        } else {
            ticks
        }
    }

    /// A number of ticks in milliseconds.
    pub(crate) const fn ms(self, ticks: u32) -> u32 {
        ticks << self.shift
    }

    fn distance(self, now_ms: u32, then: u32) -> Distance {
        let age = (now_ms >> self.shift).wrapping_sub(then) & Self::MASK;
        let behind = then.wrapping_sub(now_ms >> self.shift) & Self::MASK;
        if behind != 0 && behind <= Self::GUARD {
            Distance::Before(behind)
        } else {
            Distance::After(age)
        }
    }

    /// How long ago `then` was, in ticks; 0 when the clock stepped back behind it.
    pub(crate) fn age(self, now_ms: u32, then: u32) -> u32 {
        match self.distance(now_ms, then) {
            Distance::After(age) => age,
            Distance::Before(_) => 0,
        }
    }

    /// The milliseconds left until `wait` ticks have passed since `then`; `None` when they have.
    /// The deadline belongs to the time after: at exactly `then + wait` nothing is left.
    pub(crate) fn left(self, now_ms: u32, then: u32, wait: u32) -> Option<u32> {
        let ticks = match self.distance(now_ms, then) {
            Distance::After(age) => wait.saturating_sub(age),
            Distance::Before(behind) => wait + behind,
        };
        // The reading was rounded down, so the first of these ticks is partly over.
        (ticks != 0).then(|| self.ms(ticks) - (now_ms & self.below_a_tick()))
    }

    /// The clock's reading for a stored time, given a reading taken later: when the time was, in
    /// the clock's own milliseconds.
    pub(crate) fn reading(self, now_ms: u32, then: u32) -> u32 {
        match self.distance(now_ms, then) {
            Distance::After(age) => (now_ms & !self.below_a_tick()).wrapping_sub(self.ms(age)),
            Distance::Before(behind) => {
                (now_ms & !self.below_a_tick()).wrapping_add(self.ms(behind))
            }
        }
    }
}
