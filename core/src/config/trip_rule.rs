//! The rules that trip on what the word counts.

/// What the word counts while closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) enum TripRule {
    /// Failures with no success between them.
    Consecutive { failures: u32 },
    /// Failures since the first one of a window, even with successes between them.
    Within { failures: u32, window_ms: u32 },
    /// Nothing: the tally alone decides.
    TallyOnly,
}
