// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors of a journal.

use core::fmt;

use embedded_storage_async::nor_flash::ErrorType;

/// The reason why a journal did not do what was asked. `E` is the error of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum JournalError<E> {
    /// The range, the flash and the longest entry do not fit together.
    Misfit(Misfit),
    /// The range does not hold this journal.
    Corrupt(Corruption),
    /// The journal is full, and configured to [refuse](crate::WhenFull::Refuse). The entry was not kept.
    Full,
    /// The entry is longer than the journal's longest. It was not kept; or, if it is already in flash, the journal was
    /// opened with a shorter longest entry than before.
    TooLong {
        /// The length of the entry in bytes.
        len: usize,
        /// The length in bytes of the longest entry that the journal accepts.
        longest: usize,
    },
    /// All numbers are used: 4,294,967,295 entries. One reading per second uses them up in 136 years.
    Exhausted,
    /// The flash says that it has written, but what was written cannot be read back: the flash is worn out, there at
    /// least. The entry was not kept, and everything that was kept before still is. The next attempt writes elsewhere; a page
    /// that cannot be begun is [left out](crate::Journal::left_out), as soon as what the page after it holds was sent.
    Worn,
    /// The flash failed.
    Flash(E),
}

/// The part that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Misfit {
    /// The range does not begin and end at page boundaries.
    Unaligned {
        /// The bytes of a page.
        page: u32,
    },
    /// The range has fewer than two pages.
    TooFewPages {
        /// The bytes of a page.
        page: u32,
    },
    /// The range ends beyond the flash.
    BeyondTheEnd {
        /// The size of the flash in bytes.
        capacity: usize,
    },
    /// A page does not hold the longest entry.
    EntryTooLong {
        /// The length in bytes of the longest entry that a page holds.
        fits: u32,
    },
    /// The flash reads or writes in units that are not powers of two or are larger than 32 bytes, or its pages hold
    /// nothing.
    Flash,
}

/// The content of the range, instead of this journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Corruption {
    /// The range holds something that is not a journal.
    Garbage,
    /// A journal of another version, another range or another flash.
    OtherLayout,
    /// A journal in which the head of a page has become unreadable, so that the state of the whole journal is unknown.
    Damaged,
}

/// The result of an operation that needs the flash.
pub(crate) type Io<V, F> = Result<V, JournalError<<F as ErrorType>::Error>>;

impl<E> From<E> for JournalError<E> {
    fn from(error: E) -> Self {
        Self::Flash(error)
    }
}

impl<E: fmt::Debug> fmt::Display for JournalError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(misfit) => misfit.fmt(f),
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::Full => f.write_str(
                "the journal is full: send what waits, give it more pages, or let it drop the oldest",
            ),
            Self::TooLong { len, longest } => write!(
                f,
                "an entry has {len} bytes, but this journal takes at most {longest}: raise its longest entry"
            ),
            Self::Exhausted => f.write_str(
                "all numbers are used up: erase the range, and let the receiver start over",
            ),
            Self::Worn => f.write_str(
                "the flash does not hold what was written: send what waits, try again, and replace it if that happens often",
            ),
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unaligned { page } => write!(
                f,
                "the range of a journal must begin and end at a multiple of {page} bytes, a page of this flash"
            ),
            Self::TooFewPages { page } => write!(
                f,
                "a journal needs at least two pages of {page} bytes: lengthen its range"
            ),
            Self::BeyondTheEnd { capacity } => write!(
                f,
                "the range of a journal must end within the flash, which has {capacity} bytes and starts at address 0"
            ),
            Self::EntryTooLong { fits } => write!(
                f,
                "a page of this flash holds entries of up to {fits} bytes: lower the journal's longest entry"
            ),
            Self::Flash => f.write_str(
                "a journal needs a flash that reads and writes in powers of two up to 32 bytes, and pages that hold \
                 more than their own head",
            ),
        }
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Garbage => {
                "the range holds something that is not a journal: check the range, erase it, or open with \
                 `WhenCorrupt::Format`"
            }
            Self::OtherLayout => {
                "the range holds a journal of another version, range or flash: open it as it was, erase it, or open \
                 with `WhenCorrupt::Format`"
            }
            Self::Damaged => {
                "a page of the journal has become unreadable: erase the range, or open with `WhenCorrupt::Format`"
            }
        })
    }
}

impl<E: fmt::Debug> core::error::Error for JournalError<E> {}
impl core::error::Error for Misfit {}
impl core::error::Error for Corruption {}
