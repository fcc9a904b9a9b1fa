// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a journal, as read from its range.

/// The state of a journal: everything here could be read from flash again.
#[derive(Clone, Copy, Default)]
pub(crate) struct State {
    /// The page that is being written: the youngest.
    pub(crate) sequence: u32,
    /// The place where the next record is written.
    pub(crate) write: u32,
    /// The number of the next entry.
    pub(crate) next: u32,
    /// Entries that were dropped.
    pub(crate) dropped: u32,
    /// Entries that are waiting.
    pub(crate) waiting: u32,
    /// At or before the oldest waiting entry.
    pub(crate) oldest: Place,
}

/// A place at which a record could not be written, although it reads as erased: nothing in the flash tells.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spoilt {
    /// The page.
    pub(crate) sequence: u32,
    /// The address after it.
    pub(crate) until: u32,
}

/// A place from which records are read. The records that are read there must be those that were found there when the
/// journal was opened, so the same numbers are due.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    /// The page.
    pub(crate) sequence: u32,
    /// The address.
    pub(crate) at: u32,
    /// The number that is due there, or a lower one where it is not known.
    pub(crate) next: u32,
    /// The highest number that a record can have in this page.
    pub(crate) highest: u32,
}
