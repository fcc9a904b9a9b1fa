// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page comes back as it was some time ago, wholly or in part, or holds something foreign: an error, a gap in the
//! numbers, or a restart tells, unless it is the page that is being written, which then is as it was.

use std::ops::Range;

use flash_journal::{Corruption, Journal, JournalConfig, JournalError, WhenCorrupt, WhenFull};

use super::faults::stride;
use super::flash::Chip;
use super::ill::{Ill, PAGE};
use super::ledger::Ledger;
use super::random::{Random, run, seed};

const CONFIG: JournalConfig = JournalConfig::new();
const W: usize = 4;

/// A journal at some moment.
struct Moment {
    bytes: Vec<u8>,
    ledger: Ledger<W>,
    next: u32,
}

/// The role of a page in the journal, by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The page that is being written.
    Youngest,
    /// One that holds entries.
    Holds,
    /// One that is about to be erased, or was never begun.
    Free,
}

impl Moment {
    fn role(&self, page: usize) -> Role {
        let pages = self.bytes.len() / PAGE;
        let sequence = |page: usize| {
            let head = &self.bytes[page * PAGE..];
            let sequence = head[16..20].try_into().expect("four bytes");
            (head[..4] == *b"abj1").then_some(u32::from_le_bytes(sequence))
        };
        let youngest = (0..pages).filter_map(sequence).max().expect("a journal");
        match sequence(page) {
            Some(it) if it == youngest => Role::Youngest,
            Some(it) if it + pages as u32 - 1 > youngest => Role::Holds,
            _ => Role::Free,
        }
    }
}

/// A history that goes some times around the pages.
fn moments(pages: usize) -> Vec<Moment> {
    let mut ledger = Ledger::<W>::new(Ill::holding(vec![0xFF; pages * PAGE], 0), CONFIG);
    let mut journal = ledger.start(1).expect("erased");
    let mut moments = Vec::new();
    for step in 0..(14 * pages) {
        match step % 7 {
            2 | 5 => _ = ledger.send(&mut journal, 3),
            6 => _ = ledger.send_or_keep(&mut journal, step % 2 == 0),
            _ => _ = ledger.keep(&mut journal),
        }
        let bytes = ledger.flash.bytes();
        let copy = Ill::holding(bytes.clone(), 0);
        moments.push(Moment {
            bytes,
            ledger: ledger.on(copy, CONFIG),
            next: journal.next_number(),
        });
    }
    moments
}

/// The result for a page that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Error(Corruption),
    /// The journal says that it is new.
    Restarted,
    /// So many are missing, and the numbers go on from there.
    Opened {
        missing: u32,
        next: u32,
    },
}

/// Opens those bytes with both settings, as the application did that knows of that moment.
fn open(moment: &Moment, bytes: &[u8], is_as_it_was: bool) -> Came {
    let mut ledger = moment.ledger.on(Ill::holding(bytes.to_vec(), 1), CONFIG);
    let Some(mut journal) = ledger.start(1) else {
        assert_eq!(ledger.flash.bytes(), bytes, "left alone");
        let Some(JournalError::Corrupt(corruption)) = ledger.told.pop() else {
            panic!("another error");
        };
        let format = CONFIG.when_corrupt(WhenCorrupt::Format);
        let mut ledger = moment.ledger.on(Ill::holding(bytes.to_vec(), 1), format);
        let journal = ledger.start(1).expect("formatted");
        assert!(journal.is_new() && journal.waiting() == 0 && ledger.restarts <= 1);
        ledger.recovers(journal);
        return Came::Error(corruption);
    };
    let next = journal.next_number();
    if journal.is_new() {
        ledger.recovers(journal);
        return Came::Restarted;
    }
    ledger.send(&mut journal, u32::MAX).expect("flash");
    let missing = ledger.missing();
    if !is_as_it_was {
        assert_eq!(ledger.late, 0, "in order");
        ledger.recovers(journal);
    }
    Came::Opened { missing, next }
}

/// The whole page, or a part of it at its start or end, from an older image.
fn mixed(now: &[u8], then: &[u8], page: usize, part: usize) -> Vec<u8> {
    let mut bytes = now.to_vec();
    let start = page * PAGE;
    let range = match part {
        0 => start..start + PAGE,
        1 => start..start + 32,
        2 => start + 32..start + PAGE,
        3 => start..start + PAGE / 2,
        _ => start + PAGE / 2..start + PAGE,
    };
    bytes[range.clone()].copy_from_slice(&then[range]);
    bytes
}

/// A page that holds entries is not there any more: an error, or all of it had been sent.
fn loses_nothing_unless_it_is_damaged(came: Came, moment: &Moment) {
    let all_was_sent = Came::Opened {
        missing: 0,
        next: moment.next,
    };
    assert!(
        came == Came::Error(Corruption::Damaged) || came == all_was_sent,
        "{came:?}"
    );
}

/// The first moment, another one in each run.
fn start() -> usize {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    (seed % stride()) as usize
}

#[test]
fn an_old_copy_of_a_page_is_an_error_or_a_gap_or_the_old_time() {
    let mut counts = [0; 4];
    for pages in [2, 3, 4] {
        let moments = moments(pages);
        for (now, moment) in moments
            .iter()
            .enumerate()
            .skip(start())
            .step_by(stride() as usize)
        {
            for page in 0..pages {
                let mut last: &[u8] = &[];
                for then in &moments[..now] {
                    let old = &then.bytes[page * PAGE..(page + 1) * PAGE];
                    if std::mem::replace(&mut last, old) == old {
                        continue;
                    }
                    for part in 0..5 {
                        let bytes = mixed(&moment.bytes, &then.bytes, page, part);
                        let role = moment.role(page);
                        println!(
                            "{pages} pages, moment {now}: {role:?} page {page} as it was, part {part}"
                        );
                        let came = open(moment, &bytes, role == Role::Youngest);
                        let head = |bytes: &[u8]| bytes[page * PAGE..][..32].to_vec();
                        if role == Role::Holds && head(&bytes) != head(&moment.bytes) {
                            loses_nothing_unless_it_is_damaged(came, moment);
                        }
                        match came {
                            Came::Error(corruption) => {
                                assert_eq!(corruption, Corruption::Damaged);
                                counts[0] += 1;
                            }
                            Came::Restarted => counts[1] += 1,
                            Came::Opened { missing, next } if role == Role::Youngest => {
                                let was = |it: &Moment| it.next == next;
                                assert!(
                                    missing == 0 || next >= moment.next || moments.iter().any(was)
                                );
                                counts[2] += 1;
                            }
                            Came::Opened { missing, next } => {
                                assert!(next >= moment.next, "{next}: numbers are not given again");
                                assert!(missing == 0 || role == Role::Holds, "{missing}");
                                counts[3] += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    println!("errors, restarts, the old time, open: {counts:?}");
    assert!(counts[0] > 100 && counts[3] > 100, "{counts:?}");
}

#[test]
fn a_page_of_an_earlier_round_that_comes_back_while_it_is_open_sends_nothing_again() {
    let chip = Chip::<1, 4, 256>::new(4, 0);
    let config = CONFIG.when_full(WhenFull::DropOldest);
    let opened = run(Journal::<_, 20>::open(chip.clone(), chip.range(), config));
    let mut journal = opened.expect("erased");
    let mut keep = |numbers: Range<u32>| {
        for number in numbers {
            assert_eq!(run(journal.keep(b"twenty bytes, filled")), Ok(number));
        }
    };
    // Six in a page; three pages hold entries.
    keep(0..12);
    let then = chip.bytes()[256..512].to_vec();
    keep(12..42);
    chip.change(|bytes| bytes[256..512].copy_from_slice(&then));
    let mut sent = Vec::new();
    while let Some(entry) = run(journal.oldest()).expect("flash") {
        sent.push(entry.number);
        let number = entry.number;
        assert_eq!(run(journal.remove_through(number)), Ok(1));
    }
    assert_eq!(sent, (24..30).chain(36..42).collect::<Vec<_>>());
}

#[test]
fn a_foreign_page_is_an_error_unless_it_is_free_or_being_written() {
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..PAGE).map(|_| random.byte()).collect();
    let text = b"a log of something else, line by line. ".repeat(4);
    let fills = [noise, vec![0; PAGE], vec![0xFF; PAGE], text];
    for pages in [2, 3, 4] {
        for moment in moments(pages).iter().skip(1) {
            for page in 0..pages {
                let place = page * PAGE..(page + 1) * PAGE;
                for fill in &fills {
                    let mut bytes = moment.bytes.clone();
                    bytes[place.clone()].copy_from_slice(&fill[..PAGE]);
                    let came = open(moment, &bytes, moment.role(page) == Role::Youngest);
                    match (moment.role(page), came) {
                        (Role::Holds, it) => loses_nothing_unless_it_is_damaged(it, moment),
                        (Role::Free, Came::Opened { missing: 0, next }) => {
                            assert_eq!(next, moment.next);
                        }
                        (Role::Free, it) => panic!("{it:?}"),
                        (Role::Youngest, _) => {}
                    }
                }
            }
        }
    }
}

/// A head that is whole, but of another journal.
fn other_head(field: usize) -> [u8; PAGE] {
    let mut page = [0xFF; PAGE];
    let fields = [0x316A_6261, 3, PAGE as u32, 4, 3, 0, 0];
    for (at, value) in fields.into_iter().enumerate() {
        let changed = if at == field {
            value + (1 << 24)
        } else {
            value
        };
        page[4 * at..4 * at + 4].copy_from_slice(&changed.to_le_bytes());
    }
    let sum = super::garbage::checksum(&page[..28]);
    page[28..32].copy_from_slice(&sum.to_le_bytes());
    page
}

#[test]
fn a_page_of_another_layout_or_version_is_an_error_wherever_it_lies() {
    for moment in moments(3) {
        // The version, the pages, their size, and the grain.
        for field in 0..4 {
            for page in 0..3 {
                let mut bytes = moment.bytes.clone();
                bytes[page * PAGE..(page + 1) * PAGE].copy_from_slice(&other_head(field));
                let came = open(&moment, &bytes, false);
                assert_eq!(came, Came::Error(Corruption::OtherLayout), "{field}");
            }
        }
    }
}
