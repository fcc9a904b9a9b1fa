// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing entries, pages and marks.

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::config::WhenFull;
use crate::error::{Io, JournalError};
use crate::layout::{FoundHead, Head};
use crate::state::{Place, Spoilt};
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
        // Before the first write after a start: of the free grains only the first may be one that was begun and cut off. It is
        // left out, and the fence after it changes what a later start finds.
        let mut fence = if self.is_fenced {
            0
        } else {
            2 * geometry.grain
        };
        if !self.find_room(fence + len).await? {
            self.advance().await?;
            fence = 0;
            if !self.find_room(len).await? {
                return Err(JournalError::Worn);
            }
        }
        self.is_settled = false;
        let start = self.state.write + fence;
        let end = start + len;
        // Nothing is written there again, also if this is dropped: a word may be half written and read as erased.
        let before = self.spoil(end);
        let kept = self.write_record(number, entry, start..end).await;
        if !matches!(kept, Ok(true)) {
            if before.sequence == self.state.sequence && before.until > 0 {
                // The second time in a row: the rest of the page is no better.
                self.spoil(geometry.page_of(self.state.sequence).end);
            }
            return kept.and(Err(JournalError::Worn));
        }
        self.spoilt = Spoilt::default();
        self.state.write = end;
        self.state.next = after;
        self.state.waiting += u32::from(entry.is_some());
        self.is_settled = true;
        Ok(())
    }

    /// Writes a record, after a fence where there is none yet, and returns whether it can be read back.
    async fn write_record(
        &mut self,
        number: u32,
        entry: Option<&[u8]>,
        place: Range<u32>,
    ) -> Io<bool, F> {
        if !self.is_fenced {
            let fence = place.start - self.storage.geometry.grain;
            self.storage.write_mark(fence).await?;
            self.is_fenced = true;
        }
        self.storage
            .write_record(place.start, number, entry)
            .await?;
        let mut cursor = Cursor::search(place);
        let found = self.next_record(&mut cursor).await?;
        Ok(found.is_some_and(|it| {
            let is_all = it.len == entry.map_or(0, <[u8]>::len);
            it.number == number && is_all && it.is_done == entry.is_none()
        }))
    }

    /// Skips what is not erased any more, which would spoil what is written over it. Returns whether that many bytes are
    /// left in the page.
    async fn find_room(&mut self, len: u32) -> Io<bool, F> {
        let geometry = self.storage.geometry;
        let end = geometry.page_of(self.state.sequence).end;
        if self.spoilt.sequence == self.state.sequence {
            self.state.write = self.state.write.max(self.spoilt.until);
        }
        while self.state.write + len <= end {
            let place = self.state.write..self.state.write + len;
            match self.storage.first_written(place).await? {
                Some(written) => self.state.write = written + geometry.grain,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// From now on no record is written in this page before that address. Returns what held before.
    const fn spoil(&mut self, until: u32) -> Spoilt {
        let sequence = self.state.sequence;
        core::mem::replace(&mut self.spoilt, Spoilt { sequence, until })
    }

    /// Begins the next page, or one after it if that cannot be begun. Until one is begun, nothing that waits is lost.
    async fn advance(&mut self) -> Io<(), F> {
        let mut failed = None;
        for left_out in 0..=self.storage.geometry.may_leave_out() {
            match self.begin_after(left_out).await {
                Err(error @ (JournalError::Worn | JournalError::Flash(_))) => {
                    failed = failed.or(Some(error));
                }
                // The room is there: it is the page that is the matter.
                Err(JournalError::Full) if failed.is_some() => break,
                done => {
                    if done.is_ok() {
                        self.left_out = self.left_out.saturating_add(left_out);
                    }
                    return done;
                }
            }
        }
        Err(failed.unwrap_or(JournalError::Worn))
    }

    /// Begins the page after so many others. Its head also says that the entries of the page after it are gone, so that
    /// there is always one page that may be erased.
    async fn begin_after(&mut self, left_out: u32) -> Io<(), F> {
        let pages = self.storage.geometry.pages;
        let youngest = self.state.sequence;
        let sequence = youngest.checked_add(1 + left_out);
        let sequence = sequence.ok_or(JournalError::Exhausted)?;
        let mut place = self.state.oldest;
        let (mut is_due, mut dropped) = (false, 0);
        while self.is_gone(place.sequence, sequence) {
            is_due = true;
            let mut cursor = self.cursor(place);
            while let Some(record) = self.next_record(&mut cursor).await? {
                dropped += u32::from(!record.is_done);
            }
            if place.sequence == youngest {
                break;
            }
            place = self.page_after(place.sequence, cursor.next).await?;
        }
        let waits = is_due && (dropped > 0 || self.state.waiting > 0);
        if waits && self.config.when_full == WhenFull::Refuse {
            self.refused = self.refused.saturating_add(u32::from(left_out == 0));
            return Err(JournalError::Full);
        }
        // This page is not yet given up by the head of the youngest. If the power fails before the new head is written, a
        // start must know that nothing in it waited.
        if left_out > 0 && sequence >= pages && !self.is_sent_through(sequence - pages).await? {
            return Err(JournalError::Worn);
        }
        let head = Head {
            sequence,
            left_out,
            first: self.state.next,
            dropped: self.state.dropped + dropped,
        };
        self.is_settled = false;
        let begun = self.storage.begin_page(head).await?;
        self.state.write = begun.ok_or(JournalError::Worn)?;
        self.is_fenced = true;
        self.state.sequence = sequence;
        self.state.dropped = head.dropped;
        self.state.waiting = self.state.waiting.saturating_sub(dropped);
        while self.is_gone(self.state.oldest.sequence, sequence) {
            let oldest = self.state.oldest;
            self.state.oldest = self.page_after(oldest.sequence, oldest.next).await?;
        }
        self.is_settled = true;
        Ok(())
    }

    /// Returns whether the entries of a page must be gone when that other one is begun.
    const fn is_gone(&self, sequence: u32, begun: u32) -> bool {
        // The page of the first would be the one after that of the second.
        begun - sequence >= self.storage.geometry.pages - 1
    }

    /// Returns whether the flash proves that everything in that page and before it was sent: a later record was.
    async fn is_sent_through(&mut self, sequence: u32) -> Io<bool, F> {
        let mut place = self.page_after(sequence, 0).await?;
        loop {
            let mut cursor = self.cursor(place);
            while let Some(record) = self.next_record(&mut cursor).await? {
                if record.is_done {
                    return Ok(true);
                }
            }
            if place.sequence >= self.state.sequence {
                return Ok(false);
            }
            place = self.page_after(place.sequence, cursor.next).await?;
        }
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
                    self.state.oldest = self.page_after(oldest.sequence, cursor.next).await?;
                }
            }
        }
    }

    /// Marks the oldest waiting entry as done. If its mark cannot be written, or is neither erased nor complete, which cannot
    /// be mended, it is done until the next start, and for good as soon as a later one is: if none waits, a number that is
    /// used up.
    pub(crate) async fn finish(&mut self, record: &Record) -> Io<(), F> {
        self.is_settled = false;
        let marked = match record.mark {
            Some(mark) => self.storage.write_mark(mark).await,
            None => Ok(()),
        };
        self.state.oldest.at = record.next;
        self.state.oldest.next = record.number.saturating_add(1);
        self.state.waiting -= 1;
        self.is_settled = true;
        if record.mark.is_none() && self.state.waiting == 0 {
            let marked = self.append(self.state.next, None).await;
            self.is_settled = true;
            return marked;
        }
        Ok(marked?)
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

    /// Finds the place where the records continue after a page whose last one has the number before `next`: in the next
    /// page, unless a later head says that it was left out. The head says what is due there, as it does when the
    /// journal is opened.
    async fn page_after(&mut self, sequence: u32, next: u32) -> Io<Place, F> {
        let geometry = self.storage.geometry;
        let following = sequence + 1;
        let (mut after, mut next) = (following, next);
        for later in following..=self.state.sequence {
            match self.storage.head(later % geometry.pages).await? {
                FoundHead::Ours(head) if head.sequence == later => {
                    if later - head.left_out <= following {
                        (after, next) = (later, head.first);
                    }
                    break;
                }
                _ => {}
            }
        }
        Ok(Place {
            sequence: after,
            at: geometry.records(after % geometry.pages).start,
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
