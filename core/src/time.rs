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

    /// The ticks from `then` to a reading, modulo the wrap. A clock that stepped back behind `then`
    /// reads up to [`GUARD`](Self::GUARD) ticks before it, that is just below the wrap.
    fn since(self, now_ms: u32, then: u32) -> u32 {
        (now_ms >> self.shift).wrapping_sub(then) & Self::MASK
    }

    /// How long ago `then` was, in ticks; 0 when the clock stepped back behind it.
    pub(crate) fn age(self, now_ms: u32, then: u32) -> u32 {
        let age = self.since(now_ms, then);
        if age > Self::MASK - Self::GUARD {
            0
        } else {
            age
        }
    }

    /// The milliseconds left until `wait` ticks have passed since `then`; `None` when they have.
    /// The deadline belongs to the time after: at exactly `then + wait` nothing is left.
    #[inline]
    pub(crate) fn left(self, now_ms: u32, then: u32, wait: u32) -> Option<u32> {
        let age = self.since(now_ms, then);
        // Counted from the start of the guard band, where what is before `then` comes first.
        if age.wrapping_add(Self::GUARD) & Self::MASK >= wait + Self::GUARD {
            return None;
        }
        let ticks = wait.wrapping_sub(age) & Self::MASK;
        // The reading was rounded down, so the first of these ticks is partly over.
        Some(self.ms(ticks) - (now_ms & self.below_a_tick()))
    }

    /// The clock's reading for a stored time, given a reading taken later: when the time was, in
    /// the clock's own milliseconds.
    pub(crate) fn reading(self, now_ms: u32, then: u32) -> u32 {
        let guarded = self.since(now_ms, then).wrapping_add(Self::GUARD) & Self::MASK;
        (now_ms & !self.below_a_tick())
            .wrapping_sub(self.ms(guarded))
            .wrapping_add(self.ms(Self::GUARD))
    }
}
