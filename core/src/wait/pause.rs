//! How long to sleep: pure functions of what was seen.

use super::Awaited;
use crate::error::Rejected;
use crate::number::scramble;
use crate::state::State;
use crate::word::{self, AtomicU32};

/// How often a waiter looks that the observer does not wake.
const LOOK_MS: u64 = 1_000;
/// How often a waiter looks that is woken by transitions made here, but not by those made elsewhere.
pub(super) const LOOK_WHEN_HEARD_MS: u64 = 10_000;

/// Waiters return over this part (one eighth) of the time that they were away.
const SPREAD_PART: u64 = 8;
const LONGEST_SPREAD_MS: u64 = 1_000;

/// The first sleep while half-open, doubled with each until the longest.
const FIRST_MS: u64 = 10;
const LONGEST_MS: u64 = 1_000;

/// A fraction of 1, as 2³² parts, for this caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread(u32);

static DRAWN: AtomicU32 = AtomicU32::new(0);

/// 2³² divided by the golden ratio.
const GOLDEN: u32 = 0x9E37_79B9;

impl Spread {
    /// The multiples of 2³² divided by the golden ratio fall evenly between each other, however many
    /// there are (Weyl's equidistribution; Knuth, TAOCP 3, 6.4); each process begins at a different
    /// point.
    pub(super) fn draw(awaited: &impl Awaited) -> Self {
        let begin = scramble(awaited.entropy());
        Self(word::draw(&DRAWN, GOLDEN).wrapping_add(begin))
    }

    /// This share of a time, or of 49 days if it is longer, rounded down.
    fn of(self, ms: u64) -> u64 {
        (ms.min(u32::MAX.into()) * u64::from(self.0)) >> u32::BITS
    }

    /// Somewhere between half of a time and all of it.
    pub(super) fn between_half_and_all(self, ms: u64) -> u64 {
        ms - self.of(ms / 2)
    }

    /// How much later a waiter returns than others that were away as long.
    pub(super) fn of_spread_after(self, away_ms: u64) -> u64 {
        self.of((away_ms / SPREAD_PART).min(LONGEST_SPREAD_MS))
    }
}

/// How long a rejected waiter sleeps.
pub(super) fn after(
    rejected: Rejected,
    away_ms: u64,
    looked_half_open: u32,
    is_heard: bool,
    share: Spread,
) -> u64 {
    let look_ms = if is_heard {
        LOOK_WHEN_HEARD_MS
    } else {
        LOOK_MS
    };
    match rejected.state() {
        State::HalfOpen => {
            let doubled = FIRST_MS << looked_half_open.min(8);
            share.between_half_and_all(doubled.min(LONGEST_MS))
        }
        State::Returning => share.between_half_and_all(LONGEST_MS),
        State::Closed | State::Open | State::ForcedOpen | State::Disabled => {
            match rejected.retry_in_ms().map(u64::from) {
                Some(left_ms) if left_ms <= look_ms => {
                    left_ms + share.of_spread_after(away_ms + left_ms)
                }
                Some(_) | None => look_ms,
            }
        }
    }
}
