//! Writing entries, pages and marks.

use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::config::WhenFull;
use crate::error::{Io, JournalError};
use crate::layout::Head;
use crate::storage::Record;

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Keeps an entry, and returns its number. When this returns, the entry is in flash.
    ///
    /// Numbers rise by 1, even across resets and when nothing is waiting; none is used twice. When a page is full, the
    /// next one is erased first, which takes as long as the flash needs.
    ///
    /// If the future is dropped before it completes, or the power fails meanwhile, the entry may or may not be kept;
    /// everything kept before still is.
    ///
    /// # Errors
    /// [`TooLong`](JournalError::TooLong); [`Full`](JournalError::Full), if it is configured to refuse;
    /// [`Exhausted`](JournalError::Exhausted); [`Flash`](JournalError::Flash); [`Corrupt`](JournalError::Corrupt), if a
    /// page has become unreadable. In all these cases the entry is not kept
    /// (if the flash failed, it may be).
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
        if self.state.write + len > geometry.page_of(self.state.sequence).end {
            self.advance().await?;
        }
        self.is_settled = false;
        self.storage
            .write_record(self.state.write, number, entry)
            .await?;
        self.state.write += len;
        self.state.next = after;
        self.state.waiting += u32::from(entry.is_some());
        self.is_settled = true;
        Ok(())
    }

    /// Begins the next page. Its head also says that the entries of the page after it are gone, so that there is always
    /// one page that may be erased.
    async fn advance(&mut self) -> Io<(), F> {
        let geometry = self.storage.geometry;
        let youngest = self.state.sequence;
        let sequence = youngest.checked_add(1).ok_or(JournalError::Exhausted)?;
        let (oldest, mut at) = self.state.oldest;
        // The page of the oldest entry would be the one after the new page.
        let is_due = sequence - oldest >= geometry.pages - 1;
        let mut dropped = 0;
        if is_due && self.state.waiting > 0 {
            if self.config.when_full == WhenFull::Refuse {
                self.refused = self.refused.saturating_add(1);
                return Err(JournalError::Full);
            }
            let end = self.end_of(oldest);
            while let Some(record) = self.next_record(&mut at, end).await? {
                dropped += u32::from(!record.is_done);
            }
        }
        let head = Head {
            sequence,
            first: self.state.next,
            dropped: self.state.dropped + dropped,
        };
        self.is_settled = false;
        self.state.write = self.storage.begin_page(head).await?;
        self.state.sequence = sequence;
        self.state.dropped = head.dropped;
        self.state.waiting -= dropped;
        if is_due {
            let page = geometry.page_of(oldest + 1);
            self.state.oldest = (oldest + 1, page.start + geometry.head_len());
        }
        self.is_settled = true;
        Ok(())
    }

    /// The oldest waiting entry; its bytes are in the buffer.
    pub(crate) async fn find_oldest(&mut self) -> Io<Option<Record>, F> {
        self.settle().await?;
        while self.state.waiting > 0 {
            let (page, mut at) = self.state.oldest;
            let end = self.end_of(page);
            match self.next_record(&mut at, end).await? {
                Some(record) if record.is_done => self.state.oldest.1 = at,
                Some(record) => return Ok(Some(record)),
                None if page == self.state.sequence => {
                    // The entry was there, and has become unreadable.
                    self.state.waiting = 0;
                }
                None => {
                    let start = self.storage.geometry.page_of(page + 1).start;
                    self.state.oldest = (page + 1, start + self.storage.geometry.head_len());
                }
            }
        }
        Ok(None)
    }

    /// Marks the oldest waiting entry as done.
    pub(crate) async fn finish(&mut self, record: &Record) -> Io<(), F> {
        self.is_settled = false;
        self.storage.write_mark(record.mark).await?;
        self.state.oldest.1 = record.next;
        self.state.waiting -= 1;
        self.is_settled = true;
        Ok(())
    }

    pub(crate) async fn next_record(&mut self, at: &mut u32, end: u32) -> Io<Option<Record>, F> {
        Ok(self.storage.next_record(at, end, &mut self.buffer).await?)
    }

    /// Where the records of a page end.
    fn end_of(&self, sequence: u32) -> u32 {
        if sequence == self.state.sequence {
            self.state.write
        } else {
            self.storage.geometry.page_of(sequence).end
        }
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
