// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another reading of a journal's flash, as its layout is drawn: pages of 256 bytes and grains of 4.

pub(crate) const PAGE: usize = 256;
pub(crate) const PAGES: usize = 4;
const HEAD: usize = 32;
const GRAIN: usize = 4;
const HEADER: usize = 12;

/// CRC-32 as in Ethernet, from a value to begin with.
fn sum(begin: u32, parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(begin, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| match sum % 2 {
            0 => sum >> 1,
            _ => sum >> 1 ^ 0xEDB8_8320,
        })
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A record, or what can be told of one whose checksum is wrong.
pub(crate) struct Record {
    pub(crate) number: u32,
    /// `None`: only the number is used.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) is_whole: bool,
    is_sent: bool,
    end: usize,
}

/// The record whose header begins there, if it ends before `limit`.
pub(crate) fn record(flash: &[u8], at: usize, limit: usize) -> Option<Record> {
    let header = flash
        .get(at..at + HEADER)
        .filter(|_| at + HEADER <= limit)?;
    let (len, twice) = (word(header, 0) as u16, (word(header, 0) >> 16) as u16);
    if len != !twice {
        return None;
    }
    let fields = [&header[4..8], &header[..2]];
    let (bytes, mark, end) = if len == u16::MAX {
        (None, None, at + HEADER)
    } else {
        let data = at + HEADER;
        let mark = data + usize::from(len).next_multiple_of(GRAIN);
        let bytes = flash
            .get(data..data + usize::from(len))
            .filter(|_| mark + GRAIN <= limit)?;
        (Some(bytes), Some(&flash[mark..mark + GRAIN]), mark + GRAIN)
    };
    let sum = sum(
        u32::from_le_bytes(*b"abj1"),
        &[fields[0], fields[1], bytes.unwrap_or_default()],
    );
    // A mark is zeros, of which an eighth of the bits may have changed.
    let ones = |mark: &[u8]| mark.iter().map(|byte| byte.count_ones()).sum::<u32>();
    Some(Record {
        number: word(header, 4),
        bytes: bytes.map(<[u8]>::to_vec),
        is_whole: sum == word(header, 8),
        is_sent: mark.is_none_or(|mark| ones(mark) <= 4),
        end,
    })
}

/// The sequence number of a page, and the number of its first record.
fn head(flash: &[u8], index: usize) -> Option<(u32, u32)> {
    let head = &flash[index * PAGE..][..HEAD];
    let is_ours = head[..4] == *b"abj1"
        && [word(head, 4), word(head, 8), word(head, 12)] == [4, 256, 4]
        && word(head, 28) == sum(u32::MAX, &[&head[..28]])
        && word(head, 16) as usize % PAGES == index;
    is_ours.then(|| (word(head, 16), word(head, 20)))
}

/// The result that a journal must find.
pub(crate) enum Found {
    /// These entries wait, and the next one has this number.
    Waiting(Vec<(u32, Vec<u8>)>, u32),
    /// As before, but something cannot be read after them: the next number is higher.
    Before(Vec<(u32, Vec<u8>)>, u32),
    /// The youngest page has lost its head.
    Damaged,
    /// Another way in which flash may look.
    Unclear,
}

/// Reads flash whose heads are right, and whose records follow each other.
pub(crate) fn read(flash: &[u8]) -> Found {
    let heads: Vec<_> = (0..PAGES).map(|index| head(flash, index)).collect();
    let Some((youngest, _)) = heads.iter().flatten().max() else {
        return Found::Unclear;
    };
    let (mut waiting, mut next, mut rest) = (Vec::new(), 0, 0);
    for sequence in youngest - youngest.min(&2)..=*youngest {
        let index = sequence as usize % PAGES;
        let Some((found, first)) = heads[index] else {
            return Found::Unclear;
        };
        if found != sequence || rest != 0 || first < next {
            return Found::Unclear;
        }
        next = first;
        let (mut at, end) = (index * PAGE + HEAD, (index + 1) * PAGE);
        while let Some(record) = record(flash, at, end).filter(|it| it.number == next) {
            next += 1;
            at = record.end;
            if !record.is_whole {
                // Lost, and nothing after it.
                rest = at;
            } else if record.is_sent {
                (waiting, rest) = (Vec::new(), 0);
            } else {
                waiting.push((record.number, record.bytes.unwrap_or_default()));
                rest = 0;
            }
        }
        let is_erased = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0xFF);
        // Where no header fits there was none.
        let is_over = at + HEADER > end;
        if rest == 0 && !is_over && !is_erased(&flash[at..end]) {
            // What follows may be anything, if it is not a record.
            let is_record = |at: &usize| record(flash, *at, end).is_some();
            if is_erased(&flash[at..at + GRAIN])
                || (at..end).step_by(GRAIN).any(|at| is_record(&at))
            {
                return Found::Unclear;
            }
            // It may have been an entry.
            (rest, next) = (at, next + 1);
        } else if rest != 0 && !is_erased(&flash[at..end]) {
            return Found::Unclear;
        }
    }
    let due = (*youngest as usize + 1) % PAGES;
    let (first, end) = (due * PAGE + HEAD, (due + 1) * PAGE);
    match record(flash, first, end) {
        Some(record) if record.is_whole && record.number >= next => Found::Damaged,
        // Of the time before, or erased.
        _ if heads[due].is_some() || flash[first..end].iter().all(|byte| *byte == 0xFF) => {
            if rest == 0 {
                Found::Waiting(waiting, next)
            } else {
                Found::Before(waiting, next)
            }
        }
        _ => Found::Unclear,
    }
}
