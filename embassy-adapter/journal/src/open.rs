//! How a journal finds its state in its range, or begins there.

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::config::WhenCorrupt;
use crate::error::{Corruption, Io, JournalError};
use crate::layout::{FoundHead, Head};

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

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Reads the state from flash again after an operation was dropped or failed.
    pub(crate) async fn settle(&mut self) -> Io<(), F> {
        if self.is_settled {
            return Ok(());
        }
        let (youngest, is_foreign) = self.head(u32::gt).await?;
        let found = match youngest {
            _ if is_foreign => Err(Corruption::OtherLayout),
            Some(head) => self.scan(head).await?,
            None => Err(Corruption::Garbage),
        };
        self.state = match found {
            Ok(state) => state,
            Err(corruption) => {
                let is_fresh = corruption == Corruption::Garbage && self.is_fresh().await?;
                if !is_fresh {
                    if self.config.when_corrupt == WhenCorrupt::Fail {
                        return Err(JournalError::Corrupt(corruption));
                    }
                    self.erase_all().await?;
                }
                self.is_new = true;
                self.format().await?
            }
        };
        self.is_settled = true;
        Ok(())
    }

    /// The head whose sequence compares in this way with that of every other, and whether there are heads of another
    /// journal.
    async fn head(&mut self, compares: fn(&u32, &u32) -> bool) -> Io<(Option<Head>, bool), F> {
        let (mut found, mut is_foreign) = (None::<Head>, false);
        for index in 0..self.storage.geometry.pages {
            match self.storage.head(index).await? {
                FoundHead::Ours(head) => {
                    if found.is_none_or(|other| compares(&head.sequence, &other.sequence)) {
                        found = Some(head);
                    }
                }
                FoundHead::Foreign => is_foreign = true,
                FoundHead::None => {}
            }
        }
        Ok((found, is_foreign))
    }

    /// Reads all records, from the oldest page to the youngest. The page that is due to be erased next is not one of
    /// them, whatever it holds.
    async fn scan(&mut self, youngest: Head) -> Io<Result<State, Corruption>, F> {
        let mut state = State {
            sequence: youngest.sequence,
            next: youngest.first,
            dropped: youngest.dropped,
            ..State::default()
        };
        let geometry = self.storage.geometry;
        let others = youngest.sequence.min(geometry.pages - 2);
        for sequence in youngest.sequence - others..=youngest.sequence {
            let index = sequence % geometry.pages;
            match self.storage.head(index).await? {
                FoundHead::Ours(head) if head.sequence == sequence => {}
                _ => return Ok(Err(Corruption::Damaged)),
            }
            let page = geometry.page(index);
            let mut at = page.start + geometry.head_len();
            loop {
                let start = at;
                let Some(record) = self.next_record(&mut at, page.end).await? else {
                    break;
                };
                state.next = state.next.max(record.number.saturating_add(1));
                if record.is_done {
                    continue;
                }
                Self::check_len(record.len)?;
                if state.waiting == 0 {
                    state.oldest = (sequence, start);
                }
                state.waiting += 1;
            }
            state.write = at;
        }
        if self.is_due_younger(&state).await? {
            return Ok(Err(Corruption::Damaged));
        }
        if state.waiting == 0 {
            state.oldest = (state.sequence, state.write);
        }
        Ok(Ok(state))
    }

    /// Whether the page that is due to be erased holds later records than all others: then it was the youngest, and has
    /// lost its head. No interrupted operation leaves that behind.
    async fn is_due_younger(&mut self, state: &State) -> Io<bool, F> {
        let geometry = self.storage.geometry;
        let page = geometry.page_of(state.sequence.wrapping_add(1));
        let mut at = page.start + geometry.head_len();
        loop {
            match self.next_record(&mut at, page.end).await? {
                Some(record) if record.number >= state.next => return Ok(true),
                Some(_) => {}
                None => return Ok(false),
            }
        }
    }

    /// Whether the range is erased, or was until a formatting that was interrupted: then the last page has a mark.
    async fn is_fresh(&mut self) -> Io<bool, F> {
        let geometry = self.storage.geometry;
        let (first, last) = (geometry.page(0), geometry.page(geometry.pages - 1));
        let mark_end = last.start + geometry.grain;
        let is_marked = self.is_written(last.start..mark_end).await?;
        if !is_marked && self.is_written(first.clone()).await? {
            return Ok(false);
        }
        Ok(!self.is_written(first.end..last.start).await?
            && !self.is_written(mark_end..last.end).await?)
    }

    async fn is_written(&mut self, range: Range<u32>) -> Io<bool, F> {
        Ok(self.storage.first_written(range).await?.is_some())
    }

    /// First erases pages that could be mistaken for a journal, starting with the oldest: if power fails, the pages
    /// left are not a journal, either.
    async fn erase_all(&mut self) -> Io<(), F> {
        let geometry = self.storage.geometry;
        // At most once per page, because worn-out flash may keep its heads.
        for _ in 0..geometry.pages {
            let (Some(oldest), _) = self.head(u32::lt).await? else {
                break;
            };
            self.erase(geometry.page_of(oldest.sequence)).await?;
        }
        for index in 0..geometry.pages {
            let page = geometry.page(index);
            if self.is_written(page.clone()).await? {
                self.erase(page).await?;
            }
        }
        Ok(())
    }

    async fn erase(&mut self, page: Range<u32>) -> Io<(), F> {
        Ok(self.storage.flash.erase(page.start, page.end).await?)
    }

    /// Begins with the first page. The mark is written first: if power fails between the two, the next start knows that
    /// the first page belongs to this journal.
    async fn format(&mut self) -> Io<State, F> {
        let geometry = self.storage.geometry;
        let last = geometry.page(geometry.pages - 1);
        if !self
            .is_written(last.start..last.start + geometry.grain)
            .await?
        {
            self.storage.write_mark(last.start).await?;
        }
        let head = Head {
            sequence: 0,
            first: self.config.first_number,
            dropped: 0,
        };
        let write = self.storage.begin_page(head).await?;
        Ok(State {
            write,
            next: head.first,
            oldest: (0, write),
            ..State::default()
        })
    }
}
