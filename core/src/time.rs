// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times that wrap: from the clock's milliseconds to the ticks in the word and back.
//!
//! The word keeps a time in few bits, so it wraps (49.7 days in the 64-bit word, 35 minutes in the
//! 32-bit word with its default tick). Two rules keep that honest:
//!
//! - **Ages are never overstated.** A stored time is rounded up to a tick, a reading is rounded
//!   down, a duration is rounded up. So nothing happens early: an open time, a lease and a window
//!   last at least as long as configured and at most two ticks longer.
//! - **A reading just behind a stored time is a step back of the clock**, within the guard band: readings of two threads
//!   cross, and rounding up looks the same. Until the clock has caught up, the time left grows by what it stepped back.
//!
//! The consequences for a breaker that is not called for a long time are in [the limits](crate#limits).

use crate::word::Bits;

/// Converts and compares times, for the layout and the tick of a word.
pub(crate) trait TimeBase: Bits {
    const MASK: u32 = Self::LAYOUT.time.max();
    const GUARD: u32 = Self::LAYOUT.guard;
    const MAX_TICKS: u32 = Self::LAYOUT.max_ticks();
    /// Binary logarithm of the tick in milliseconds.
    const SHIFT: u32 = Self::LAYOUT.tick_log2;
    const BELOW_A_TICK: u32 = (1 << Self::SHIFT) - 1;

    /// The time to store for a reading.
    fn stamp(now_ms: u32) -> u32 {
        (now_ms.wrapping_add(Self::BELOW_A_TICK) >> Self::SHIFT) & Self::MASK
    }

    /// A duration in ticks, rounded up, at most what the word can tell.
    fn ticks(ms: u32) -> u32 {
        let ticks = (ms >> Self::SHIFT) + u32::from(ms & Self::BELOW_A_TICK != 0);
        ticks.min(Self::MAX_TICKS)
    }

    /// A number of ticks in milliseconds.
    fn ms(ticks: u32) -> u32 {
        ticks << Self::SHIFT
    }

    /// The ticks from `then` to a reading, modulo the wrap. A clock that stepped back behind `then` reads up to
    /// [`GUARD`](Self::GUARD) ticks before it, that is, just below the wrap.
    fn since(now_ms: u32, then: u32) -> u32 {
        (now_ms >> Self::SHIFT).wrapping_sub(then) & Self::MASK
    }

    /// The time since `then`, in ticks; 0 when the clock stepped back behind it.
    fn age(now_ms: u32, then: u32) -> u32 {
        let age = Self::since(now_ms, then);
        if age > Self::MASK - Self::GUARD {
            0
        } else {
            age
        }
    }

    /// Returns whether `ticks` have passed since `then`: its [`age`](Self::age) is at least that.
    fn has_passed(now_ms: u32, then: u32, ticks: u32) -> bool {
        // Counted from the start of the guard band, so that a step back of the clock comes first.
        let age = Self::since(now_ms, then).wrapping_add(Self::GUARD) & Self::MASK;
        age >= ticks + Self::GUARD
    }

    /// The ticks from `stamp`, a reading in ticks, until `wait` ticks have passed since `then`; 0 when they have.
    fn left_from(stamp: u32, then: u32, wait: u32) -> u32 {
        // Counted from the start of the guard band, so that times before `then` come first.
        let age = stamp.wrapping_sub(then).wrapping_add(Self::GUARD) & Self::MASK;
        (wait + Self::GUARD).saturating_sub(age)
    }

    /// `time`, this many ticks earlier.
    fn earlier(time: u32, ticks: u32) -> u32 {
        time.wrapping_sub(ticks) & Self::MASK
    }

    /// The milliseconds left until `wait` ticks have passed since `then`; `None` when they have. The deadline
    /// itself counts as over: at exactly `then + wait` nothing is left.
    fn left(now_ms: u32, then: u32, wait: u32) -> Option<u32> {
        match Self::left_from(now_ms >> Self::SHIFT, then, wait) {
            0 => None,
            // The reading was rounded down, so the first of these ticks is partly over.
            ticks => Some(Self::ms(ticks) - (now_ms & Self::BELOW_A_TICK)),
        }
    }

    /// The clock's reading for a stored time, given a reading taken later: when the time was, in
    /// the clock's own milliseconds.
    fn reading(now_ms: u32, then: u32) -> u32 {
        let guarded = Self::since(now_ms, then).wrapping_add(Self::GUARD) & Self::MASK;
        (now_ms & !Self::BELOW_A_TICK)
            .wrapping_sub(Self::ms(guarded))
            .wrapping_add(Self::ms(Self::GUARD))
    }
}

impl<B: Bits> TimeBase for B {}
