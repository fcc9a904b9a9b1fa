// SPDX-License-Identifier: MIT OR Apache-2.0
//! The behaviour of a journal when it is full, or finds something else in its range.

/// The settings of a [`Journal`](crate::Journal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct JournalConfig {
    pub(crate) when_full: WhenFull,
    pub(crate) when_corrupt: WhenCorrupt,
    pub(crate) first_number: u32,
}

/// The treatment of a new entry when the journal is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WhenFull {
    /// The new entry is refused with [`JournalError::Full`](crate::JournalError::Full), and nothing that was kept is lost.
    ///
    /// Room is freed a page at a time: new entries are refused until every entry of the oldest page has been sent (or
    /// removed), not just one. With two pages that is every waiting entry. So a report that leaves with `?` when
    /// [`keep`](crate::Journal::keep) refuses, before it sends, never sends again: send first, or send all the same.
    #[default]
    Refuse,
    /// The oldest entries are dropped, one page at a time, and the new one is kept.
    DropOldest,
}

/// The behaviour when the range holds anything but this journal. An erased range is always formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WhenCorrupt {
    /// The range is left as it is: [`JournalError::Corrupt`](crate::JournalError::Corrupt).
    #[default]
    Fail,
    /// The range is erased, and a new journal begins.
    Format,
}

impl JournalConfig {
    /// The default: refuses when it is full, fails when it finds something else; numbers begin with 0.
    pub const fn new() -> Self {
        Self {
            when_full: WhenFull::Refuse,
            when_corrupt: WhenCorrupt::Fail,
            first_number: 0,
        }
    }

    /// Sets the treatment of a new entry when the journal is full.
    pub const fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Sets the behaviour when the range holds anything but this journal.
    pub const fn when_corrupt(mut self, when_corrupt: WhenCorrupt) -> Self {
        self.when_corrupt = when_corrupt;
        self
    }

    /// The number of the first entry of a newly formatted journal; a higher one, if entries of an old journal lie there and
    /// cannot be erased. An existing journal continues with its own numbers.
    pub const fn first_number(mut self, number: u32) -> Self {
        self.first_number = number;
        self
    }
}
