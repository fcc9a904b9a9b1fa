//! The share of failures among the last calls.

use super::{byte, half};

/// When a share of failures trips: so many percent of so many calls.
///
/// ```
/// use atomic_breaker::Ratio;
///
/// // Half of the last 20 calls, once 10 were seen.
/// const HALF: Ratio = Ratio::percent(50).of_last(20).min_calls(10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Ratio {
    pub(crate) percent: u8,
    pub(crate) calls: u16,
    pub(crate) min_calls: Option<u16>,
}

impl Ratio {
    /// At least so many percent (1 to 100) of the last 20 calls failed, once half as many were seen.
    pub const fn percent(percent: u32) -> Self {
        Self {
            percent: byte(percent),
            calls: 20,
            min_calls: None,
        }
    }

    /// Among so many calls. At least 1; at most what the memory holds:
    /// [`LastCalls`](crate::LastCalls) 59, or 27 in a 32-bit word.
    pub const fn of_last(mut self, calls: u32) -> Self {
        self.calls = half(calls);
        self
    }

    /// Once so many calls were seen: 1 to [`of_last`](Self::of_last), by default half as many, rounded
    /// up.
    #[doc(alias = "minimum number of calls")]
    pub const fn min_calls(mut self, calls: u32) -> Self {
        self.min_calls = Some(half(calls));
        self
    }

    /// The share of failures that trips, in percent.
    pub const fn trips_at_percent(self) -> u32 {
        self.percent as u32
    }

    /// How many calls are looked at.
    pub const fn calls(self) -> u32 {
        self.calls as u32
    }

    /// How many calls must have been seen.
    pub const fn needed_calls(self) -> u32 {
        match self.min_calls {
            Some(calls) => calls as u32,
            None => (self.calls as u32).div_ceil(2),
        }
    }

    /// Whether so many failures among so many calls trip. Exact up to 42 million calls.
    pub const fn is_reached(self, seen: u32, failed: u32) -> bool {
        seen >= self.needed_calls()
            && failed.saturating_mul(100) >= seen.saturating_mul(self.percent as u32)
    }
}
