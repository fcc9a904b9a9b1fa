//! Heads and records, read from flash and written to it.

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

use crate::layout::{FoundHead, Geometry, Head, Header, MAX_GRAIN, is_erased};

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
    /// Whether nothing is left to do: it was sent, or is only a number.
    pub(crate) is_done: bool,
    /// The address of its mark.
    pub(crate) mark: u32,
    /// The address after it.
    pub(crate) next: u32,
}

impl<F: NorFlash> Storage<F> {
    pub(crate) async fn head(&mut self, index: u32) -> Result<FoundHead, F::Error> {
        let mut chunk = Chunk::ZEROS;
        let len = self.geometry.head_len() as usize;
        let start = self.geometry.page(index).start;
        self.flash.read(start, &mut chunk.0[..len]).await?;
        Ok(Head::find(&chunk.0, index, &self.geometry))
    }

    /// Erases a page and writes its head, so that a page with a head is known to have been erased. Returns where its
    /// records begin.
    pub(crate) async fn begin_page(&mut self, head: Head) -> Result<u32, F::Error> {
        let page = self.geometry.page_of(head.sequence);
        self.flash.erase(page.start, page.end).await?;
        let head = head.to_bytes(&self.geometry);
        self.write(page.start, &head).await?;
        Ok(page.start + self.geometry.head_len())
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

    /// Returns the next record at or after `at`, with its entry copied to `entry` if it fits. `None` means that there
    /// is none before `end`, and that any free room begins at `at`.
    pub(crate) async fn next_record(
        &mut self,
        at: &mut u32,
        end: u32,
        entry: &mut [u8],
    ) -> Result<Option<Record>, F::Error> {
        let geometry = self.geometry;
        let header_len = geometry.header_len();
        while *at + header_len <= end {
            let mut chunk = Chunk::ZEROS;
            let bytes = &mut chunk.0[..header_len as usize];
            self.flash.read(*at, bytes).await?;
            if is_erased(&bytes[..geometry.grain as usize]) {
                match self.first_written(*at + geometry.grain..end).await? {
                    Some(written) => *at = written,
                    None => return Ok(None),
                }
                continue;
            }
            let fits =
                |header: &Header| geometry.record_len(header.len.map(u32::from)) <= end - *at;
            let Some(header) = Header::from_bytes(bytes).filter(fits) else {
                *at += geometry.grain;
                continue;
            };
            let start = *at;
            // If the rest is incomplete, it is skipped all the same, because the data that was being written is not a
            // header.
            *at += geometry.record_len(header.len.map(u32::from));
            if let Some(record) = self.rest_of(&header, start, *at, entry).await? {
                return Ok(Some(record));
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
        let mark = next - self.geometry.grain;
        let mut is_done = true;
        if header.len.is_some() {
            let bytes = &mut chunk.0[..self.geometry.grain as usize];
            self.flash.read(mark, bytes).await?;
            is_done = !is_erased(bytes);
        }
        Ok(Some(Record {
            number: header.number,
            len,
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
        let grain = self.geometry.grain as usize;
        self.write(at, &Chunk::ZEROS.0[..grain]).await
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
