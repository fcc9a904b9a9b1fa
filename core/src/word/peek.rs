// SPDX-License-Identifier: MIT OR Apache-2.0
//! The questions that can be asked of a word as it is, without unpacking it.

use super::code::{CLOSED, FORCED_OPEN_OVER_DISABLED, HALF_OPEN, OPEN, OTHER};
use super::{Bits, Layout, open_time};

/// The questions that the fast paths ask of a word, answered from the bits without unpacking.
pub(crate) trait Peek: Bits {
    /// The bits that are all zero while closed.
    const IS_CLOSED: u64 = Self::LAYOUT.state.mask() | Self::LAYOUT.trips.mask();
    const ALL_BUT_EPOCH: u64 = !Self::LAYOUT.epoch.mask();

    /// The bits of the state say closed, and no trips say that traffic is only returning.
    fn is_closed(self) -> bool {
        self.to_u64() & Self::IS_CLOSED == 0
    }

    /// Held by an operator, forced open or disabled.
    fn is_held(self) -> bool {
        self.to_u64() & Self::IS_CLOSED == const { Self::LAYOUT.state.put(OTHER) }
    }

    /// Closed, with nothing counted: all bits but the epoch are zero.
    fn is_closed_and_clear(self) -> bool {
        self.to_u64() & Self::ALL_BUT_EPOCH == 0
    }

    /// Returns whether this word is in the epoch of `granted`.
    fn is_same_epoch(self, granted: Self) -> bool {
        (self.to_u64() ^ granted.to_u64()) & const { Self::LAYOUT.identity() } == 0
    }

    /// The fields that tell one epoch from the next, without the rest.
    fn only_epoch(self) -> Self {
        Self::from_u64(self.to_u64() & const { Self::LAYOUT.identity() })
    }

    /// Returns whether `granted` is from the same half-open time as this word, as far as state and trips tell: the
    /// trips do not change within one, except for the lowest bit, when a breaker that was released loses its first
    /// round.
    fn is_same_half_open_time(self, granted: Self) -> bool {
        let lowest = Self::LAYOUT.trips.put(1);
        let same = Self::LAYOUT.state.put(HALF_OPEN) | Self::LAYOUT.trips.mask() & !lowest;
        (self.to_u64() ^ granted.to_u64()) & same == 0
    }
}

impl<B: Bits> Peek for B {}

/// Returns whether a breaker could have written such a word.
// Once in flash: 12 bytes less on a Cortex-M0.
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) fn is_valid<B: Bits>(word: B) -> bool {
    let (layout, bits) = (B::LAYOUT, word.to_u64());
    let payload = layout.payload.get(bits);
    let state = layout.state.get(bits);
    if state == OPEN {
        let longest = const { longest_code(B::LAYOUT) };
        layout.trips.get(bits) != 0 && layout.open_for.get(bits) <= longest
    } else if word.is_closed() {
        payload != 0 || layout.time.get(bits) == 0
    } else if word.is_held() {
        // 0 is no command, and wraps to a number above all of them.
        payload.wrapping_sub(1) < FORCED_OPEN_OVER_DISABLED && layout.time.get(bits) == 0
    } else {
        state != OTHER || layout.lost.get(bits) < layout.max_lost
    }
}

/// Describes the fault of such a word, if no breaker could have written it.
pub(crate) fn fault<B: Bits>(word: B) -> Option<&'static str> {
    let has_trips = B::LAYOUT.trips.get(word.to_u64()) != 0;
    let fault = match B::LAYOUT.state.get(word.to_u64()) {
        CLOSED => "it has a window of failures, but no failure",
        OPEN if has_trips => "its open time is longer than any breaker sets",
        OPEN => "it is open, yet never tripped",
        _ if has_trips => "more rounds of probes were lost than any breaker counts",
        _ => "it is neither forced open nor disabled",
    };
    (!is_valid(word)).then_some(fault)
}

const fn longest_code(layout: Layout) -> u32 {
    open_time::encode(layout.precision, layout.max_ticks()).0
}
