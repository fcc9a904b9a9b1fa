// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing entries, pages and marks.

use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::config::WhenFull;
use crate::error::{Io, JournalError};
use crate::layout::{FoundHead, Head};
use crate::state::Place;
use crate::storage::{Cursor, Record};

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Keeps an entry, and returns its number. When this returns, the entry is in flash.
    ///
    /// Numbers rise by 1, even across resets and when nothing is waiting; none is used twice. After bytes that cannot be read
    /// the number is higher: an entry may have been there. When a page is full, the
    /// next one is erased first, which takes as long as the flash needs.
    ///
    /// If the future is dropped before it completes, or the power fails meanwhile, the entry may or may not be kept;
    /// everything kept before still is.
    ///
    /// # Errors
    /// [`TooLong`](JournalError::TooLong); [`Full`](JournalError::Full), if it is configured to refuse;
    /// [`Exhausted`](JournalError::Exhausted); [`Worn`](JournalError::Worn), if what was written cannot be read back;
    /// [`Flash`](JournalError::Flash); [`Corrupt`](JournalError::Corrupt), if a page has become unreadable. In all these
    /// cases the entry is not acknowledged (if the flash failed or is worn, it may be kept all the same).
    pub async fn keep(&mut self, entry: &[u8]) -> Result<u32, JournalError<F::Error>> {
        Self::check_len(entry.len())?;
        self.settle().await?;
        let number = self.state.next;
        self.append(number, Some(entry)).await?;
        Ok(number)
    }

    /// Writes an entry, or the fact that its number is used by one that is not kept. The state is settled before, and also
    /// afterwards if this succeeds.
    pub(crate) async fn append(&mut self, number: u32, entry: Option<&[u8]>) -> Io<(), F> {
        let after = number.checked_add(1).ok_or(JournalError::Exhausted)?;
        let geometry = self.storage.geometry;
        let len = geometry.record_len(entry.map(|entry| entry.len() as u32));
        if !self.find_room(len).await? {
            self.advance().await?;
            if !self.find_room(len).await? {
                return Err(JournalError::Worn);
            }
        }
        self.is_settled = false;
        let end = self.state.write + len;
        self.storage
            .write_record(self.state.write, number, entry)
            .await?;
        let mut cursor = Cursor::search(self.state.write..end);
        let found = self.next_record(&mut cursor).await?;
        let is_kept = found.is_some_and(|it| {
            let is_all = it.len == entry.map_or(0, <[u8]>::len);
            it.number == number && is_all && it.is_done == entry.is_none()
        });
        if !is_kept {
            return Err(JournalError::Worn);
        }
        self.state.write = end;
        self.state.next = after;
        self.state.waiting += u32::from(entry.is_some());
        self.is_settled = true;
        Ok(())
    }

    /// Skips what is not erased any more, which would spoil what is written over it. Returns whether that many bytes are
    /// left in the page.
    async fn find_room(&mut self, len: u32) -> Io<bool, F> {
        let geometry = self.storage.geometry;
        let end = geometry.page_of(self.state.sequence).end;
        while self.state.write + len <= end {
            let place = self.state.write..self.state.write + len;
            match self.storage.first_written(place).await? {
                Some(written) => self.state.write = written + geometry.grain,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Begins the next page. Its head also says that the entries of the page after it are gone, so that there is always
    /// one page that may be erased.
    async fn advance(&mut self) -> Io<(), F> {
        let geometry = self.storage.geometry;
        let youngest = self.state.sequence;
        let sequence = youngest.checked_add(1).ok_or(JournalError::Exhausted)?;
        let oldest = self.state.oldest;
        // The page of the oldest entry would be the one after the new page.
        let is_due = sequence - oldest.sequence >= geometry.pages - 1;
        let mut dropped = 0;
        if is_due {
            let mut cursor = self.cursor(oldest);
            while let Some(record) = self.next_record(&mut cursor).await? {
                dropped += u32::from(!record.is_done);
            }
            let waits = dropped > 0 || self.state.waiting > 0;
            if waits && self.config.when_full == WhenFull::Refuse {
                self.refused = self.refused.saturating_add(1);
                return Err(JournalError::Full);
            }
        }
        let head = Head {
            sequence,
            first: self.state.next,
            dropped: self.state.dropped + dropped,
        };
        self.is_settled = false;
        let begun = self.storage.begin_page(head).await?;
        self.state.write = begun.ok_or(JournalError::Worn)?;
        self.state.sequence = sequence;
        self.state.dropped = head.dropped;
        self.state.waiting = self.state.waiting.saturating_sub(dropped);
        if is_due {
            self.state.oldest = self.start_of(oldest.sequence + 1, oldest.next).await?;
        }
        self.is_settled = true;
        Ok(())
    }

    /// The oldest waiting entry; its bytes are in the buffer.
    pub(crate) async fn find_oldest(&mut self) -> Io<Option<Record>, F> {
        self.settle().await?;
        // Not as many as were counted: an entry that could not be read then may be readable now.
        loop {
            let oldest = self.state.oldest;
            let mut cursor = self.cursor(oldest);
            match self.next_record(&mut cursor).await? {
                Some(record) if record.is_done => {
                    self.state.oldest.at = cursor.at;
                    self.state.oldest.next = cursor.next;
                }
                Some(record) => {
                    self.state.waiting = self.state.waiting.max(1);
                    return Ok(Some(record));
                }
                None if oldest.sequence == self.state.sequence => {
                    // What was counted and is not there has become unreadable.
                    self.state.waiting = 0;
                    return Ok(None);
                }
                None => {
                    self.state.oldest = self.start_of(oldest.sequence + 1, cursor.next).await?;
                }
            }
        }
    }

    /// Marks the oldest waiting entry as done. If its mark is neither erased nor complete, which cannot be mended, it is done
    /// until the next start, and for good as soon as a later one is.
    pub(crate) async fn finish(&mut self, record: &Record) -> Io<(), F> {
        self.is_settled = false;
        if let Some(mark) = record.mark {
            self.storage.write_mark(mark).await?;
        }
        self.state.oldest.at = record.next;
        self.state.oldest.next = record.number.saturating_add(1);
        self.state.waiting -= 1;
        self.is_settled = true;
        Ok(())
    }

    pub(crate) async fn next_record(&mut self, cursor: &mut Cursor) -> Io<Option<Record>, F> {
        Ok(self.storage.next_record(cursor, &mut self.buffer).await?)
    }

    /// Reads the records of a page from there.
    fn cursor(&self, from: Place) -> Cursor {
        let end = if from.sequence == self.state.sequence {
            self.state.write
        } else {
            self.storage.geometry.page_of(from.sequence).end
        };
        Cursor {
            next: from.next,
            highest: from.highest,
            skips: true,
            ..Cursor::search(from.at..end)
        }
    }

    /// Where the records of a page begin, after those of the page before, whose last one has the number before `next`. The
    /// head says what is due there, as it does when the journal is opened.
    async fn start_of(&mut self, sequence: u32, next: u32) -> Io<Place, F> {
        let geometry = self.storage.geometry;
        let index = sequence % geometry.pages;
        let next = match self.storage.head(index).await? {
            FoundHead::Ours(head) if head.sequence == sequence => head.first,
            _ => next,
        };
        Ok(Place {
            sequence,
            at: geometry.records(index).start,
            next,
            highest: geometry.highest_after(next),
        })
    }

    pub(crate) fn check_len(len: usize) -> Io<(), F> {
        if len <= LONGEST {
            Ok(())
        } else {
            let longest = LONGEST;
            Err(JournalError::TooLong { len, longest })
        }
    }
}
