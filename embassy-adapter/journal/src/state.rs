// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a journal knows of its range.

/// The state of a journal: everything here could be read from flash again.
#[derive(Clone, Copy, Default)]
pub(crate) struct State {
    /// The page that is being written: the youngest.
    pub(crate) sequence: u32,
    /// Where the next record is written.
    pub(crate) write: u32,
    /// The number of the next entry.
    pub(crate) next: u32,
    /// Entries that were dropped.
    pub(crate) dropped: u32,
    /// Entries that are waiting.
    pub(crate) waiting: u32,
    /// The page of the oldest waiting entry, and an address at or before it.
    pub(crate) oldest: (u32, u32),
}
