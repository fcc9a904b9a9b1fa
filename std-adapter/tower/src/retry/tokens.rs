// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word of a budget, and its changes: no atomics here.
//!
//! ```text
//!  63                                      24 23                      0
//! ┌──────────────────────────────────────────┬─────────────────────────┐
//! │ time of the last retry, ms          40   │ thousandths spent  24   │
//! └──────────────────────────────────────────┴─────────────────────────┘
//! ```
//!
//! It counts what is *spent*, so that zero is a full budget and a success of a healthy service needs one comparison
//! with zero. 40 bits of milliseconds wrap around after 34 years.

/// Thousandths of a token, as gRPC's A6 counts them.
pub(super) const MILLI: u32 = 1_000;

/// The most tokens whose thousandths the word has room for.
pub(super) const MAX_TOKENS: u32 = (1 << SPENT_BITS) / MILLI;

const SPENT_BITS: u32 = 24;
const SPENT: u64 = (1 << SPENT_BITS) - 1;
const TIME_BITS: u32 = u64::BITS - SPENT_BITS;
const TIME: u64 = (1 << TIME_BITS) - 1;

/// Readings of two threads may cross. A clock that is further behind than this was set back.
const CROSSED_MS: u64 = 1_000;

/// A snapshot of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens(pub(super) u64);

/// The word after a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Withdrawn {
    /// A token was left.
    Yes(Tokens),
    /// None was left. The word stays the same, unless the clock was set back: counting on from the old time would stop
    /// the refill until the clock has caught up.
    No(Option<Tokens>),
}

impl Tokens {
    const fn pack(ms: u64, spent: u32) -> Self {
        Self(ms << SPENT_BITS | spent as u64)
    }

    const fn ms(self) -> u64 {
        self.0 >> SPENT_BITS
    }

    pub(super) const fn spent(self) -> u32 {
        (self.0 & SPENT) as u32
    }

    #[inline]
    pub(super) const fn is_full(self) -> bool {
        self.0 & SPENT == 0
    }

    /// After a deposit of this many thousandths.
    pub(super) const fn given(self, milli: u32) -> Self {
        Self::pack(self.ms(), self.spent().saturating_sub(milli))
    }

    /// Returns whether the clock was set back since the last retry.
    fn is_set_back(self, now_ms: u64) -> bool {
        let behind = self.ms().wrapping_sub(now_ms) & TIME;
        behind > CROSSED_MS && behind <= TIME / 2
    }

    /// After the refill that is due at `now_ms`.
    pub(super) fn refilled(self, now_ms: u64, milli_per_ms: u32) -> Self {
        if self.is_set_back(now_ms) {
            return Self::pack(now_ms & TIME, self.spent());
        }
        let passed = now_ms.wrapping_sub(self.ms()) & TIME;
        if passed > TIME / 2 {
            return self; // the readings of two threads crossed
        }
        let due = passed.saturating_mul(u64::from(milli_per_ms));
        // Fits, as it is the lesser of the two.
        let due = due.min(u64::from(self.spent())) as u32;
        Self::pack(now_ms & TIME, self.spent() - due)
    }

    /// After a retry at `now_ms`, if a token is left of `max_milli` thousandths.
    pub(super) fn withdraw(self, now_ms: u64, milli_per_ms: u32, max_milli: u32) -> Withdrawn {
        let refilled = self.refilled(now_ms, milli_per_ms);
        // A value from the caller's memory may be more than the maximum: no addition may overflow.
        let spent = refilled.spent().saturating_add(MILLI);
        if spent <= max_milli {
            return Withdrawn::Yes(Self::pack(refilled.ms(), spent));
        }
        Withdrawn::No(self.is_set_back(now_ms).then_some(refilled))
    }
}
