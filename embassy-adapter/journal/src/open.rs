// SPDX-License-Identifier: MIT OR Apache-2.0
//! The start of a journal, which finds its state in its range, or begins there.

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::config::WhenCorrupt;
use crate::error::{Corruption, Io, JournalError};
use crate::layout::{FoundHead, Head};
use crate::state::{Place, State};
use crate::storage::Cursor;

/// The records of some pages.
#[derive(Default)]
struct Found {
    state: State,
    /// The length of the longest entry that is waiting.
    longest: usize,
    /// `true` if the last record is only a number.
    ends_with_number: bool,
    /// The bytes after the last record that hold something else.
    unreadable: u32,
    /// The highest number that the last page can hold.
    highest: u32,
    /// `true` if all pages have their heads.
    is_whole: bool,
    /// `true` if a page has lost its head, and nothing says that all in it was sent.
    is_incomplete: bool,
}

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Reads the state from flash again after an operation was dropped or failed.
    pub(crate) async fn settle(&mut self) -> Io<(), F> {
        if self.is_settled {
            return Ok(());
        }
        let mut found = self.find().await?;
        if found.is_err() {
            // A read that is wrong once must not cost the journal.
            found = self.find().await?;
        }
        self.state = match found {
            Ok(Some((head, state))) => {
                // The power may have failed after the formatting, before anyone was told.
                let geometry = self.storage.geometry;
                let start = geometry.records(head.sequence % geometry.pages).start;
                self.is_new |= head.is_first() && state.write == start;
                state
            }
            Ok(None) => self.format(self.config.first_number).await?,
            Err(corruption) if self.config.when_corrupt == WhenCorrupt::Fail => {
                return Err(JournalError::Corrupt(corruption));
            }
            Err(_) => {
                let first = self.erase_all().await?;
                self.format(first).await?
            }
        };
        self.is_settled = true;
        Ok(())
    }

    /// The youngest head and the state, or `None` in a range that may be formatted.
    async fn find(&mut self) -> Io<Result<Option<(Head, State)>, Corruption>, F> {
        let (youngest, is_foreign) = self.head(u32::gt).await?;
        Ok(match youngest {
            _ if is_foreign => Err(Corruption::OtherLayout),
            Some(head) => self.scan(head).await?.map(|state| Some((head, state))),
            None => self.check_fresh().await?.map(|()| None),
        })
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
    /// them, whatever it holds. A page without its head was left out, as the next head says, or all in it was sent, as a
    /// later record was; or it is lost.
    async fn scan(&mut self, youngest: Head) -> Io<Result<State, Corruption>, F> {
        let geometry = self.storage.geometry;
        let others = youngest.sequence.min(geometry.pages - 2);
        let oldest = youngest.sequence - others;
        let mut found = Found {
            is_whole: true,
            ..Found::default()
        };
        let mut missing = 0;
        for sequence in oldest..=youngest.sequence {
            match self.storage.head(sequence % geometry.pages).await? {
                FoundHead::Ours(head) if head.sequence == sequence => {
                    found.is_incomplete |= missing > head.left_out;
                    missing = 0;
                    self.scan_page(head, &mut found).await?;
                }
                _ => {
                    missing += 1;
                    found.is_whole = false;
                }
            }
        }
        if missing > 0 || found.is_incomplete || self.is_another_younger(&found, oldest).await? {
            return Ok(Err(Corruption::Damaged));
        }
        Self::check_len(found.longest)?;
        let mut state = found.state;
        if state.waiting == 0 {
            state.oldest = Place {
                sequence: state.sequence,
                at: state.write,
                next: state.next,
                highest: found.highest,
            };
        }
        // What cannot be read was being written when the power failed, or has been kept: its numbers may be used.
        let unreadable = geometry.records_in(found.unreadable);
        state.next = state.next.saturating_add(unreadable);
        Ok(Ok(state))
    }

    async fn scan_page(&mut self, head: Head, found: &mut Found) -> Io<(), F> {
        let geometry = self.storage.geometry;
        let records = geometry.records(head.sequence % geometry.pages);
        let highest = geometry.highest_after(head.first);
        let mut cursor = Cursor {
            next: head.first,
            highest,
            skips: true,
            ..Cursor::search(records)
        };
        let state = &mut found.state;
        loop {
            let start = Place {
                sequence: head.sequence,
                at: cursor.at,
                next: cursor.next,
                highest,
            };
            let Some(record) = self.next_record(&mut cursor).await? else {
                break;
            };
            found.ends_with_number = record.is_number;
            if record.is_done {
                // Entries are sent in order, and a number is used up alone only if none waits.
                (state.waiting, found.longest, found.is_incomplete) = (0, 0, false);
                continue;
            }
            if state.waiting == 0 {
                state.oldest = start;
            }
            state.waiting += 1;
            found.longest = found.longest.max(record.len);
        }
        state.sequence = head.sequence;
        state.dropped = head.dropped;
        state.write = cursor.at;
        if state.next > cursor.next {
            // While the head could not be read, the page before went on. This one began with a number that is used.
            state.write = cursor.end;
        }
        state.next = state.next.max(cursor.next);
        found.unreadable = cursor.unreadable;
        found.highest = highest;
        Ok(())
    }

    /// Returns whether another page, such as the one that is due to be erased, holds later records than all that are live:
    /// then it was the youngest, and has lost its head. No interrupted operation leaves that behind.
    async fn is_another_younger(&mut self, found: &Found, oldest: u32) -> Io<bool, F> {
        let geometry = self.storage.geometry;
        // An entry follows the record that its number is used.
        let next = found.state.next;
        let oldest_entry = next - u32::from(found.ends_with_number);
        let live = found.state.sequence - oldest + 1;
        // Those after the youngest that may have been begun, too.
        let pages = geometry.pages.min(live + geometry.may_leave_out() + 1);
        for after in 0..pages {
            let index = (oldest % geometry.pages + after) % geometry.pages;
            let is_live =
                after < live && (found.is_whole || self.is_page_of(oldest + after).await?);
            if is_live {
                continue;
            }
            let mut cursor = Cursor::search(geometry.records(index));
            while let Some(record) = self.next_record(&mut cursor).await? {
                let oldest = if record.is_number { next } else { oldest_entry };
                if record.number >= oldest {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn is_page_of(&mut self, sequence: u32) -> Io<bool, F> {
        let index = sequence % self.storage.geometry.pages;
        let found = self.storage.head(index).await?;
        Ok(matches!(found, FoundHead::Ours(head) if head.sequence == sequence))
    }

    /// Checks that a range without heads is erased, or was until a formatting that was interrupted.
    async fn check_fresh(&mut self) -> Io<Result<(), Corruption>, F> {
        let geometry = self.storage.geometry;
        let last = geometry.page(geometry.pages - 1);
        let first = geometry.page(0).start..geometry.page(geometry.may_leave_out()).end;
        if self.is_written(first.clone()).await? {
            // Formatting leaves no record in the pages that it tries to begin: one of them has lost its head.
            for index in 0..=geometry.may_leave_out() {
                if self.highest_in(index).await?.is_some() {
                    return Ok(Err(Corruption::Damaged));
                }
            }
            if !self.is_formatting().await? {
                return Ok(Err(Corruption::Garbage));
            }
        }
        let is_used = self.is_written(first.end..last.start).await?
            || self.is_written(self.marks().end..last.end).await?;
        Ok((!is_used).then_some(()).ok_or(Corruption::Garbage))
    }

    /// The positions of a formatting's marks: two, if the power fails while the first is written.
    fn marks(&self) -> Range<u32> {
        let geometry = self.storage.geometry;
        let last = geometry.page(geometry.pages - 1);
        last.start..last.start + 2 * geometry.grain
    }

    /// Returns whether a formatting has begun: then the first pages may hold anything but records.
    async fn is_formatting(&mut self) -> Io<bool, F> {
        for mark in self.marks().step_by(self.storage.geometry.grain as usize) {
            if self.storage.formatting(mark).await? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The highest number of the records in a page, whatever it belongs to.
    async fn highest_in(&mut self, index: u32) -> Io<Option<u32>, F> {
        let mut cursor = Cursor::search(self.storage.geometry.records(index));
        let mut highest = None;
        while let Some(record) = self.next_record(&mut cursor).await? {
            highest = highest.max(Some(record.number));
        }
        Ok(highest)
    }

    async fn is_written(&mut self, range: Range<u32>) -> Io<bool, F> {
        Ok(self.storage.first_written(range).await?.is_some())
    }

    /// First erases pages that could be mistaken for a journal, the oldest first: if power fails, the others are no journal,
    /// either. Returns the number with which the new one begins: records that remain, with lower ones, are not its own.
    async fn erase_all(&mut self) -> Io<u32, F> {
        let geometry = self.storage.geometry;
        // At most once per page, because worn-out flash may keep its heads.
        for _ in 0..geometry.pages {
            let (Some(oldest), _) = self.head(u32::lt).await? else {
                break;
            };
            self.erase(oldest.sequence % geometry.pages).await?;
        }
        let mut first = self.config.first_number;
        for index in 0..geometry.pages {
            if self.is_written(geometry.page(index)).await? {
                self.erase(index).await?;
                let left = self.highest_in(index).await?;
                // An entry may have the number before the one that is due.
                first = left.map_or(first, |left| first.max(left.saturating_add(2)));
            }
        }
        Ok(first)
    }

    /// Erases a page. All but a head may remain, which a later start would take for one of the new journal.
    async fn erase(&mut self, index: u32) -> Io<(), F> {
        let page = self.storage.geometry.page(index);
        let erased = self.storage.flash.erase(page.start, page.end).await;
        let is_harmless = matches!(self.storage.head(index).await?, FoundHead::None);
        match erased {
            _ if is_harmless => Ok(()),
            Ok(()) => Err(JournalError::Worn),
            Err(error) => Err(JournalError::Flash(error)),
        }
    }

    /// Begins with the first page that can be begun. The mark is written first: if power fails between the two, the next start
    /// knows that the first pages belong to this journal.
    async fn format(&mut self, first: u32) -> Io<State, F> {
        self.is_new = true;
        if !self.is_formatting().await? {
            for mark in self.marks().step_by(self.storage.geometry.grain as usize) {
                if self.storage.formatting(mark).await?.is_none()
                    && self.storage.write_formatting(mark).await.is_ok()
                {
                    // If it is not there, a power cut before the head is written leaves garbage, and nothing is lost.
                    break;
                }
            }
        }
        let (geometry, mut failed) = (self.storage.geometry, None);
        for left_out in 0..=geometry.may_leave_out() {
            let head = Head {
                sequence: left_out,
                left_out,
                first,
                dropped: 0,
            };
            let error = match self.storage.begin_page(head).await {
                Ok(Some(write)) => {
                    self.is_fenced = true;
                    self.left_out = self.left_out.saturating_add(left_out);
                    return Ok(State {
                        sequence: head.sequence,
                        write,
                        next: head.first,
                        oldest: Place {
                            sequence: head.sequence,
                            at: write,
                            next: head.first,
                            highest: geometry.highest_after(head.first),
                        },
                        ..State::default()
                    });
                }
                Ok(None) => JournalError::Worn,
                Err(error) => JournalError::Flash(error),
            };
            failed = failed.or(Some(error));
        }
        Err(failed.unwrap_or(JournalError::Worn))
    }
}
