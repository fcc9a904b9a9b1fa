// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of the journal's layout in flash: each function returns 1, whatever it is given. And a tally of the last calls.

#![allow(missing_docs, dead_code)]

#[path = "../../../../embassy-adapter/journal/src/error.rs"]
mod error;
#[path = "../../../../embassy-adapter/journal/src/layout.rs"]
mod layout;
mod tally;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use layout::{FoundHead, Geometry, Head, Header, MOST_LEFT_OUT, is_erased, is_marked};

/// A flash of this size, which is only asked for it.
struct Flash(usize);

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = 4096;

    async fn erase(&mut self, _: u32, _: u32) -> Result<(), NorFlashErrorKind> {
        Ok(())
    }

    async fn write(&mut self, _: u32, _: &[u8]) -> Result<(), NorFlashErrorKind> {
        Ok(())
    }
}

/// The pages that a geometry has lie within its range, and a record of the longest entry within a page.
#[unsafe(no_mangle)]
pub extern "C" fn always_geometry(
    start: u32,
    end: u32,
    size: u32,
    longest: u32,
    index: u32,
    address: u32,
) -> u32 {
    let Ok(geometry) = Geometry::new(&Flash(size as usize), start..end, longest as usize) else {
        return 1;
    };
    let page = geometry.page(index % geometry.pages);
    let records = geometry.records(index % geometry.pages);
    let is_within = start <= page.start && page.end <= end && end <= size;
    let len = geometry.record_len(Some(longest));
    let fits =
        records.start > page.start && records.end == page.end && len <= records.end - records.start;
    let is_one = !page.contains(&address) || address - page.start < 4096;
    (is_within && fits && is_one && geometry.pages >= 2).into()
}

/// A header is read as it was written, and never begins with an erased grain.
#[unsafe(no_mangle)]
pub extern "C" fn always_header(number: u32, len: u16, sum: u32) -> u32 {
    let len = (len != u16::MAX).then_some(len);
    let bytes = Header { number, len, sum }.to_bytes();
    let is_same = Header::from_bytes(&bytes)
        .is_some_and(|found| (found.number, found.len, found.sum) == (number, len, sum));
    (is_same && !is_erased(&bytes[..4])).into()
}

/// Any bytes are the header that is read of them, or none: exactly where the lengths contradict each other.
#[unsafe(no_mangle)]
pub extern "C" fn always_any_header(bytes: &[u8; 12]) -> u32 {
    let is_one = bytes[0] ^ bytes[2] == 0xFF && bytes[1] ^ bytes[3] == 0xFF;
    match Header::from_bytes(bytes) {
        Some(found) => (is_one && found.to_bytes() == *bytes).into(),
        None => (!is_one).into(),
    }
}

/// A head is read as it was written, in its page only.
#[unsafe(no_mangle)]
pub extern "C" fn always_head(
    end: u32,
    sequence: u32,
    left_out: u32,
    first: u32,
    dropped: u32,
    index: u32,
) -> u32 {
    let Ok(geometry) = Geometry::new(&Flash(usize::MAX), 0..end, 0) else {
        return 1;
    };
    let head = Head {
        sequence,
        left_out: left_out & MOST_LEFT_OUT,
        first,
        dropped,
    };
    if head.left_out > sequence {
        return 1;
    }
    match Head::find(&head.to_bytes(&geometry), index, &geometry) {
        FoundHead::Ours(found) => (found == head && index == sequence % geometry.pages).into(),
        FoundHead::Foreign => (index != sequence % geometry.pages).into(),
        FoundHead::None => 0,
    }
}

/// Of any bytes that are taken for a head, it is the head.
#[unsafe(no_mangle)]
pub extern "C" fn always_any_head(bytes: &[u8; 32], end: u32, index: u32) -> u32 {
    let Ok(geometry) = Geometry::new(&Flash(usize::MAX), 0..end, 0) else {
        return 1;
    };
    match Head::find(bytes, index, &geometry) {
        FoundHead::Ours(found) => {
            let may_be = found.left_out <= MOST_LEFT_OUT && found.left_out <= found.sequence;
            (may_be && found.to_bytes(&geometry) == *bytes).into()
        }
        FoundHead::Foreign | FoundHead::None => 1,
    }
}

/// A mark is one with up to an eighth of its bits changed; an erased one is none.
#[unsafe(no_mangle)]
pub extern "C" fn always_marked(bytes: &[u8; 8]) -> u32 {
    let number = u64::from_le_bytes(*bytes);
    let is_right = is_marked(bytes) == (number.count_ones() <= 8);
    (is_right
        && is_erased(bytes) == (number == u64::MAX)
        && !(is_marked(bytes) && is_erased(bytes)))
    .into()
}
