// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heads and records, read from flash and written to it.

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

use crate::layout::{
    FORMATTING, FoundHead, Geometry, Head, Header, MAX_GRAIN, is_erased, is_marked,
};

/// The most that is read or written at a time: a multiple of every grain size.
const CHUNK: usize = 2 * MAX_GRAIN;

/// In RAM and aligned, as drivers require of data to write.
#[repr(align(4))]
struct Chunk([u8; CHUNK]);

impl Chunk {
    const ZEROS: Self = Self([0; CHUNK]);
}

/// The pages of a journal.
pub(crate) struct Storage<F> {
    pub(crate) flash: F,
    pub(crate) geometry: Geometry,
}

/// A complete record.
pub(crate) struct Record {
    pub(crate) number: u32,
    /// The length of the entry; 0 if nothing was kept.
    pub(crate) len: usize,
    /// `true` if it is only a number.
    pub(crate) is_number: bool,
    /// `true` if nothing is left to do: it was sent, or is only a number.
    pub(crate) is_done: bool,
    /// The address of its mark, as long as that is erased.
    pub(crate) mark: Option<u32>,
    /// The address after it.
    pub(crate) next: u32,
}

/// The position of a reader among the records, and its findings so far.
pub(crate) struct Cursor {
    pub(crate) at: u32,
    pub(crate) end: u32,
    /// The number after that of the last record, which the next one has, or a higher one.
    pub(crate) next: u32,
    /// The highest number that a record can have here. Anything with a higher one is not a record, but bytes of an
    /// entry whose header cannot be read.
    pub(crate) highest: u32,
    /// Bytes since the last record that hold something else.
    pub(crate) unreadable: u32,
    /// `true` if the header of an incomplete record is believed: then what follows is skipped, because the data that
    /// was being written is not a header.
    pub(crate) skips: bool,
}

impl Cursor {
    /// Searches for records with any number.
    pub(crate) const fn search(records: Range<u32>) -> Self {
        Self {
            at: records.start,
            end: records.end,
            next: 0,
            highest: u32::MAX,
            unreadable: 0,
            skips: false,
        }
    }

    /// Counts the end of a page in which no header fits as unreadable: it is the rest of a record.
    fn end_without_header(&mut self, header_len: u32) {
        if self.at + header_len > self.end {
            self.unreadable += self.end - self.at;
        }
    }

    fn fits(&self, header: &Header, geometry: &Geometry) -> bool {
        // An entry follows the record that its number is used.
        let is_due = self.next <= header.number.saturating_add(1) && header.number <= self.highest;
        is_due && geometry.record_len(header.len.map(u32::from)) <= self.end - self.at
    }
}

impl<F: NorFlash> Storage<F> {
    /// Reads the head of a page, and reads anything that is not a head of this journal twice: a read that is wrong once
    /// must not cost the journal.
    pub(crate) async fn head(&mut self, index: u32) -> Result<FoundHead, F::Error> {
        let mut found = self.read_head(index).await?;
        if !matches!(found, FoundHead::Ours(_)) {
            found = self.read_head(index).await?;
        }
        Ok(found)
    }

    async fn read_head(&mut self, index: u32) -> Result<FoundHead, F::Error> {
        let mut chunk = Chunk::ZEROS;
        let len = self.geometry.head_len() as usize;
        let start = self.geometry.page(index).start;
        self.flash.read(start, &mut chunk.0[..len]).await?;
        Ok(Head::find(&chunk.0, index, &self.geometry))
    }

    /// Erases a page and writes its head, so that a page with a head is known to have been erased. Returns where its
    /// records begin, or `None` if there is no room for the head or it cannot be read back: what is written after it would
    /// be lost.
    pub(crate) async fn begin_page(&mut self, head: Head) -> Result<Option<u32>, F::Error> {
        let index = head.sequence % self.geometry.pages;
        let page = self.geometry.page(index);
        let records = page.start + self.geometry.head_len();
        self.flash.erase(page.start, page.end).await?;
        if self.first_written(page.start..records).await?.is_some() {
            return Ok(None);
        }
        self.write(page.start, &head.to_bytes(&self.geometry))
            .await?;
        let is_kept = matches!(self.head(index).await?, FoundHead::Ours(found) if found == head);
        Ok(is_kept.then_some(records))
    }

    /// The first grain of a range in which anything was written.
    pub(crate) async fn first_written(
        &mut self,
        range: Range<u32>,
    ) -> Result<Option<u32>, F::Error> {
        let grain = self.geometry.grain as usize;
        let mut at = range.start;
        while at < range.end {
            let mut chunk = Chunk::ZEROS;
            let len = CHUNK.min((range.end - at) as usize);
            self.flash.read(at, &mut chunk.0[..len]).await?;
            let mut grains = chunk.0[..len].chunks(grain);
            if let Some(written) = grains.position(|grain| !is_erased(grain)) {
                return Ok(Some(at + (written * grain) as u32));
            }
            at += len as u32;
        }
        Ok(None)
    }

    /// Returns the next record, with its entry copied to `entry` if it fits. `None` means that there is none before the
    /// end, and that any free room begins at the cursor. Anything that is not a record is read twice: a read that is
    /// wrong once must neither hide a record nor let the next one be written over its end.
    pub(crate) async fn next_record(
        &mut self,
        cursor: &mut Cursor,
        entry: &mut [u8],
    ) -> Result<Option<Record>, F::Error> {
        let geometry = self.geometry;
        let header_len = geometry.header_len();
        // Where to go on, once the bytes at the cursor were read and are no record. It is enough that one reading finds the
        // header of an incomplete record: if it was not skipped, the next entry would be written where later starts skip it.
        let mut after = 0;
        // What the last reading behind an erased grain found, and how many there were: what is taken for free room must have
        // been found twice, or a read that is wrong once would hide all records behind a grain that was left out.
        let (mut seen, mut readings) = (0, 0);
        while cursor.at + header_len <= cursor.end {
            let is_second = after > cursor.at;
            if !is_second {
                (seen, readings) = (0, 0);
            }
            let next_grain = cursor.at + geometry.grain;
            let mut chunk = Chunk::ZEROS;
            let bytes = &mut chunk.0[..header_len as usize];
            self.flash.read(cursor.at, bytes).await?;
            if after <= next_grain && is_erased(&bytes[..geometry.grain as usize]) {
                let found = self.first_written(next_grain..cursor.end).await?;
                let written = found.unwrap_or(cursor.end);
                readings += 1;
                if written != seen && readings < 3 {
                    (seen, after) = (written, next_grain);
                } else if found.is_some() {
                    cursor.at = written;
                    cursor.end_without_header(header_len);
                } else {
                    return Ok(None);
                }
                continue;
            }
            after = after.max(next_grain);
            if let Some(header) = Header::from_bytes(bytes).filter(|it| cursor.fits(it, &geometry))
            {
                let end = cursor.at + geometry.record_len(header.len.map(u32::from));
                if let Some(record) = self.rest_of(&header, cursor.at, end, entry).await? {
                    cursor.at = end;
                    cursor.next = record.number.saturating_add(1);
                    cursor.unreadable = 0;
                    return Ok(Some(record));
                }
                if cursor.skips {
                    after = end;
                }
            }
            if is_second {
                // However long a record is that is skipped, it used one number.
                cursor.unreadable += header_len.min(after - cursor.at);
                cursor.at = after;
                if after == next_grain {
                    cursor.end_without_header(header_len);
                }
            }
        }
        Ok(None)
    }

    /// The record with that header, if its checksum is right.
    async fn rest_of(
        &mut self,
        header: &Header,
        start: u32,
        next: u32,
        entry: &mut [u8],
    ) -> Result<Option<Record>, F::Error> {
        let mut sum = header.begin_sum();
        let len = usize::from(header.len.unwrap_or(0));
        let data = start + self.geometry.header_len();
        let mut chunk = Chunk::ZEROS;
        let mut done = 0;
        while done < len {
            let part = CHUNK.min(len - done);
            let whole = self.geometry.round_up(part as u32) as usize;
            let address = data + done as u32;
            self.flash.read(address, &mut chunk.0[..whole]).await?;
            sum.add(&chunk.0[..part]);
            if let Some(place) = entry.get_mut(done..done + part) {
                place.copy_from_slice(&chunk.0[..part]);
            }
            done += part;
        }
        if sum.end() != header.sum {
            return Ok(None);
        }
        let (mut is_done, mut mark) = (true, None);
        if header.len.is_some() {
            let at = next - self.geometry.grain;
            let bytes = &mut chunk.0[..self.geometry.grain as usize];
            self.flash.read(at, bytes).await?;
            if is_marked(bytes) {
                // Everything before it counts as sent, too: one wrong read must not do that.
                self.flash.read(at, bytes).await?;
            }
            is_done = is_marked(bytes);
            mark = is_erased(bytes).then_some(at);
        }
        Ok(Some(Record {
            number: header.number,
            len,
            is_number: header.len.is_none(),
            is_done,
            mark,
            next,
        }))
    }

    /// Writes an entry, or the fact that its number was used.
    pub(crate) async fn write_record(
        &mut self,
        at: u32,
        number: u32,
        entry: Option<&[u8]>,
    ) -> Result<(), F::Error> {
        let header = Header::of(number, entry);
        self.write(at, &header.to_bytes()).await?;
        let data = at + self.geometry.header_len();
        self.write(data, entry.unwrap_or_default()).await
    }

    /// Writes a grain of zeros.
    pub(crate) async fn write_mark(&mut self, at: u32) -> Result<(), F::Error> {
        self.write(at, &[0]).await
    }

    /// Writes the mark of a formatting.
    pub(crate) async fn write_formatting(&mut self, at: u32) -> Result<(), F::Error> {
        self.write(at, &FORMATTING).await
    }

    /// Returns whether the mark of a formatting was written there; `None` if nothing was.
    pub(crate) async fn formatting(&mut self, at: u32) -> Result<Option<bool>, F::Error> {
        let mut chunk = Chunk::ZEROS;
        let bytes = &mut chunk.0[..self.geometry.grain as usize];
        self.flash.read(at, bytes).await?;
        Ok((!is_erased(bytes)).then(|| bytes[..FORMATTING.len()] == FORMATTING))
    }

    /// Writes bytes, and fills the last grain with zeros.
    async fn write(&mut self, mut at: u32, bytes: &[u8]) -> Result<(), F::Error> {
        for part in bytes.chunks(CHUNK) {
            let mut chunk = Chunk::ZEROS;
            chunk.0[..part.len()].copy_from_slice(part);
            let whole = self.geometry.round_up(part.len() as u32);
            self.flash.write(at, &chunk.0[..whole as usize]).await?;
            at += whole;
        }
        Ok(())
    }
}
