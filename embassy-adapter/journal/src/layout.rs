// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layout in flash: only numbers and bytes, without access to the flash.
//!
//! A page, in units of a grain, which is the least that the flash reads and writes (at least 4 bytes):
//!
//! ```text
//! ┌──────┬────────┬──────┬──────┬────────┬──────┬──────┬─────────────┐
//! │ head │ header │ data │ mark │ header │ data │ mark │ ... erased  │
//! └──────┴────────┴──────┴──────┴────────┴──────┴──────┴─────────────┘
//! ```
//!
//! Each grain is written once between two erases: a mark stays erased until its entry is sent. Bytes that are not a
//! valid record, such as those left by an interrupted write, are skipped.

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

use crate::error::Misfit;

/// The largest grain: 256 bits, as on an STM32H7.
pub(crate) const MAX_GRAIN: usize = 32;

const HEADER: u32 = 12;
const HEAD: usize = 32;
const ERASED: u8 = 0xFF;

/// The name of the layout; its last byte is the version.
const MAGIC: [u8; 4] = *b"abj1";

/// Written to the last page before the first is erased and begun, so that an interrupted formatting is told from
/// anything else.
pub(crate) const FORMATTING: [u8; 4] = *b"abjf";

/// The largest number of pages in a row that are left out when they cannot be begun: each attempt erases a page.
pub(crate) const MOST_LEFT_OUT: u32 = 3;

/// In a head the low byte of this field is the grain, the others say how many pages were left out.
const LEFT_OUT_SHIFT: u32 = 8;

/// The length of a record that keeps nothing: its number was used.
const NOTHING: u16 = u16::MAX;

/// The positions of the pages, and their division.
#[derive(Clone, Copy)]
pub(crate) struct Geometry {
    start: u32,
    page: u32,
    pub(crate) pages: u32,
    pub(crate) grain: u32,
}

impl Geometry {
    pub(crate) fn new<F: NorFlash>(
        flash: &F,
        range: Range<u32>,
        longest: usize,
    ) -> Result<Self, Misfit> {
        let grain = F::READ_SIZE.max(F::WRITE_SIZE).max(4);
        // Only 0 is a multiple of 0.
        let divides = |size| grain.is_multiple_of(size);
        let is_supported = divides(F::READ_SIZE)
            && divides(F::WRITE_SIZE)
            && MAX_GRAIN.is_multiple_of(grain)
            && F::ERASE_SIZE.is_multiple_of(grain);
        let page = match u32::try_from(F::ERASE_SIZE) {
            Ok(page) if is_supported && page > 0 => page,
            _ => return Err(Misfit::Flash),
        };
        if !(range.start.is_multiple_of(page) && range.end.is_multiple_of(page)) {
            return Err(Misfit::Unaligned { page });
        }
        if range.end as usize > flash.capacity() {
            return Err(Misfit::BeyondTheEnd {
                capacity: flash.capacity(),
            });
        }
        let geometry = Self {
            start: range.start,
            page,
            pages: range.end.saturating_sub(range.start) / page,
            grain: grain as u32,
        };
        if geometry.pages < 2 {
            return Err(Misfit::TooFewPages { page });
        }
        match geometry.longest_entry() {
            Some(fits) if longest <= fits as usize => Ok(geometry),
            Some(fits) => Err(Misfit::EntryTooLong { fits }),
            None => Err(Misfit::Flash),
        }
    }

    /// The longest entry that a page holds.
    fn longest_entry(&self) -> Option<u32> {
        let fits = self
            .page
            .checked_sub(self.head_len() + self.header_len() + self.grain)?;
        Some(fits.min(u32::from(NOTHING) - 1))
    }

    pub(crate) fn head_len(&self) -> u32 {
        self.round_up(HEAD as u32)
    }

    pub(crate) fn header_len(&self) -> u32 {
        self.round_up(HEADER)
    }

    /// Rounds up to whole grains.
    pub(crate) fn round_up(&self, bytes: u32) -> u32 {
        // Grains are powers of two.
        (bytes + self.grain - 1) & !(self.grain - 1)
    }

    /// The room that a record takes: for an entry of that many bytes, or `None` for a number that was used.
    pub(crate) fn record_len(&self, entry: Option<u32>) -> u32 {
        let kept = entry.map_or(0, |len| self.round_up(len) + self.grain);
        self.header_len() + kept
    }

    /// The most records that those bytes may have held, readable or not.
    pub(crate) fn records_in(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.header_len())
    }

    /// The highest number that a record can have in a page whose first record has that number, readable or not: each grain
    /// that cannot be read may take one.
    pub(crate) fn highest_after(&self, first: u32) -> u32 {
        first.saturating_add(self.page / self.grain)
    }

    /// The addresses of the records of a page.
    pub(crate) fn records(&self, index: u32) -> Range<u32> {
        let page = self.page(index);
        page.start + self.head_len()..page.end
    }

    /// The number of pages to try after one that cannot be begun: not the page that is being written.
    pub(crate) fn may_leave_out(&self) -> u32 {
        MOST_LEFT_OUT.min(self.pages - 2)
    }

    /// The addresses of a page.
    pub(crate) fn page(&self, index: u32) -> Range<u32> {
        let start = self.start + index * self.page;
        start..start + self.page
    }

    /// The addresses of the page that was opened with that sequence number.
    pub(crate) fn page_of(&self, sequence: u32) -> Range<u32> {
        self.page(sequence % self.pages)
    }
}

/// The head of a page: written after the page was erased, it says that everything in the page that is due to be erased
/// next is gone.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Head {
    /// The number of pages that were opened before this one, or left out.
    pub(crate) sequence: u32,
    /// The number of pages just before this one that were left out, as they could not be begun. So a start tells them
    /// from pages whose heads have become unreadable.
    pub(crate) left_out: u32,
    /// The number of its first record.
    pub(crate) first: u32,
    /// The number of entries that were dropped, since the journal was formatted.
    pub(crate) dropped: u32,
}

/// The kind of head found in a page.
pub(crate) enum FoundHead {
    /// No head: never written, or interrupted.
    None,
    /// The head of another journal: another version, range or flash.
    Foreign,
    Ours(Head),
}

impl Head {
    /// Returns whether no page was begun before.
    pub(crate) const fn is_first(&self) -> bool {
        self.sequence == self.left_out
    }

    pub(crate) fn to_bytes(self, geometry: &Geometry) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let fields = [
            geometry.pages,
            geometry.page,
            geometry.grain | self.left_out << LEFT_OUT_SHIFT,
            self.sequence,
            self.first,
            self.dropped,
        ];
        bytes[..4].copy_from_slice(&MAGIC);
        for (field, at) in fields.iter().zip((4..).step_by(4)) {
            bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        let mut sum = Checksum::of_head();
        sum.add(&bytes[..HEAD - 4]);
        bytes[HEAD - 4..].copy_from_slice(&sum.end().to_le_bytes());
        bytes
    }

    pub(crate) fn find(bytes: &[u8], index: u32, geometry: &Geometry) -> FoundHead {
        let field = |at| word(bytes, at);
        let mut sum = Checksum::of_head();
        sum.add(&bytes[..HEAD - 4]);
        if bytes[..3] != MAGIC[..3] || field(HEAD - 4) != sum.end() {
            return FoundHead::None;
        }
        let (left_out, grain) = (field(12) >> LEFT_OUT_SHIFT, u32::from(bytes[12]));
        let found = (bytes[3], field(4), field(8), grain);
        let ours = (MAGIC[3], geometry.pages, geometry.page, geometry.grain);
        let sequence = field(16);
        let is_ours = found == ours && left_out <= MOST_LEFT_OUT.min(sequence);
        if !is_ours || sequence % geometry.pages != index {
            return FoundHead::Foreign;
        }
        FoundHead::Ours(Self {
            sequence,
            left_out,
            first: field(20),
            dropped: field(24),
        })
    }
}

/// The header before the data of a record.
pub(crate) struct Header {
    pub(crate) number: u32,
    /// `None`: the number was used, and nothing is kept.
    pub(crate) len: Option<u16>,
    pub(crate) sum: u32,
}

impl Header {
    pub(crate) fn of(number: u32, entry: Option<&[u8]>) -> Self {
        let mut header = Self {
            number,
            len: entry.map(|entry| entry.len() as u16),
            sum: 0,
        };
        let mut sum = header.begin_sum();
        sum.add(entry.unwrap_or_default());
        header.sum = sum.end();
        header
    }

    /// The length is stored twice, once with all bits inverted: an interrupted write leaves some bit set in both. This
    /// also means that a header never begins with an erased grain.
    pub(crate) fn to_bytes(&self) -> [u8; HEADER as usize] {
        let len = self.len.unwrap_or(NOTHING);
        let mut bytes = [0; HEADER as usize];
        bytes[..2].copy_from_slice(&len.to_le_bytes());
        bytes[2..4].copy_from_slice(&(!len).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let lengths = word(bytes, 0);
        let len = lengths as u16;
        let is_whole = len == !((lengths >> 16) as u16);
        is_whole.then(|| Self {
            number: word(bytes, 4),
            len: (len != NOTHING).then_some(len),
            sum: word(bytes, 8),
        })
    }

    /// The checksum of an entry starts with the fields of its header.
    pub(crate) fn begin_sum(&self) -> Checksum {
        let mut sum = Checksum::of_record();
        sum.add(&self.number.to_le_bytes());
        sum.add(&self.len.unwrap_or(NOTHING).to_le_bytes());
        sum
    }
}

pub(crate) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == ERASED)
}

/// Returns whether a mark, which is all zeros, was written: an eighth of its bits may have changed since. Of a mark
/// whose writing was interrupted, or one that was erased until some of its bits changed, this is false, so its entry is
/// sent again.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    ones as usize <= bytes.len()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// CRC-32 as in Ethernet, computed bit by bit because a table would take a kilobyte.
pub(crate) struct Checksum(u32);

impl Checksum {
    fn of_head() -> Self {
        Self(u32::MAX)
    }

    /// Starts from another value: with that of Ethernet, an empty entry that was cut off after its length would have a
    /// correct checksum.
    fn of_record() -> Self {
        Self(u32::from_le_bytes(MAGIC))
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..8 {
                let is_odd = self.0 & 1 != 0;
                self.0 >>= 1;
                if is_odd {
                    self.0 ^= 0xEDB8_8320;
                }
            }
        }
    }

    pub(crate) fn end(&self) -> u32 {
        !self.0
    }
}
