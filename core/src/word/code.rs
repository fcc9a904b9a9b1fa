//! The codes in the fields of a word.

// In `state`.
pub(crate) const CLOSED: u32 = 0;
pub(crate) const OPEN: u32 = 1;
pub(crate) const HALF_OPEN: u32 = 2;
/// Half-open after lost rounds, or held by an operator: the trips say which.
pub(crate) const OTHER: u32 = 3;

// For a held word, in `load`. The later command is the one that shows; the other waits below it.
pub(crate) const FORCED_OPEN: u32 = 1;
pub(crate) const DISABLED: u32 = 2;
pub(crate) const DISABLED_OVER_FORCED_OPEN: u32 = 3;
pub(crate) const FORCED_OPEN_OVER_DISABLED: u32 = 4;
