// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry on its way, and callers that send in their own way.

use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::error::JournalError;
use crate::storage::Record;

/// An entry on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The number by which the receiver knows the entry: numbers rise, and a repeated number means the same entry again.
    pub number: u32,
    /// The bytes that were kept.
    pub bytes: &'a [u8],
}

impl Record {
    pub(crate) fn entry<'a>(&self, buffer: &'a [u8]) -> Entry<'a> {
        let (number, bytes) = (self.number, &buffer[..self.len]);
        Entry { number, bytes }
    }
}

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Returns the oldest waiting entry, for callers that send in their own way: without a call for each entry, or with
    /// a reply that comes later. It stays until [`remove_through`](Self::remove_through).
    ///
    /// ```
    /// use embedded_storage_async::nor_flash::NorFlash;
    /// use flash_journal::{Journal, JournalError};
    /// # async fn deliver(_: u32, _: &[u8]) -> Result<(), ()> { Ok(()) }
    ///
    /// async fn send<F: NorFlash>(journal: &mut Journal<F, 32>) -> Result<(), JournalError<F::Error>> {
    ///     while let Some(entry) = journal.oldest().await? {
    ///         let number = entry.number;
    ///         if deliver(number, entry.bytes).await.is_err() {
    ///             break;
    ///         }
    ///         journal.remove_through(number).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn oldest(&mut self) -> Result<Option<Entry<'_>>, JournalError<F::Error>> {
        let found = self.find_oldest().await?;
        Ok(found.map(|record| record.entry(&self.buffer)))
    }

    /// Removes the entries up to and including that number, which has arrived, and returns how many there were. No
    /// later entry is removed, even if the entry with that number was dropped meanwhile.
    pub async fn remove_through(&mut self, number: u32) -> Result<u32, JournalError<F::Error>> {
        let (mut removed, mut marked) = (0, Ok(()));
        while let Some(record) = self.find_oldest().await? {
            if record.number > number {
                break;
            }
            marked = marked.and(self.finish(&record).await);
            removed += 1;
        }
        marked.map(|()| removed)
    }
}
