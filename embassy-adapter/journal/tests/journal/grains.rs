// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole bytes, grains and longer pieces of the flash change by themselves: whatever was acknowledged after that is sent,
//! and what arrives is what was kept, in order.

use flash_journal::{Journal, JournalConfig, JournalError};

use super::cuts::rounds;
use super::flash::{Chip, Cut};
use super::random::{Random, run, seed};

type Flash = Chip<1, 4, 256>;

fn open(chip: &Flash) -> Result<Journal<Flash, 20>, JournalError<Cut>> {
    run(Journal::open(
        chip.clone(),
        chip.range(),
        JournalConfig::new(),
    ))
}

/// Entries of all lengths, whose bytes are those of their number.
fn entry(number: u32) -> Vec<u8> {
    vec![number as u8; number as usize % 15 + 1]
}

/// The bytes of a journal that has kept so many entries, and sent all but the last ones.
fn kept(entries: u32, waiting: u32) -> Vec<u8> {
    let chip = Flash::new(4, 0);
    let mut journal = open(&chip).expect("erased");
    for number in 0..entries {
        assert_eq!(run(journal.keep(&entry(number))), Ok(number));
        if number >= waiting {
            run(journal.remove_through(number - waiting)).expect("flash");
        }
    }
    chip.bytes()
}

/// Sends what waits. Entries that rotted are missing; the others are as they were kept.
fn send(journal: &mut Journal<Flash, 20>, kept: u32) {
    let mut last = None;
    while let Some(found) = run(journal.oldest()).expect("flash that can be read") {
        let number = found.number;
        assert!(last.is_none_or(|last| number > last), "{last:?}, {number}");
        assert!(number < kept, "{number} was never kept");
        assert_eq!(found.bytes, entry(number), "as it was kept");
        last = Some(number);
        assert_eq!(run(journal.remove_through(number)), Ok(1));
    }
}

/// Opens it after it has rotted. Returns the number of the next entry, if it opened.
fn lives_on(bytes: &[u8], kept: u32) -> Option<u32> {
    let chip = Flash::holding(bytes.to_vec(), 1);
    let Ok(mut journal) = open(&chip) else {
        return None;
    };
    send(&mut journal, kept);
    let next = run(journal.keep(b"new")).expect("room");
    let is_new = |journal: &mut Journal<Flash, 20>| {
        let found = run(journal.oldest()).expect("flash that can be read");
        found.is_some_and(|it| it.number == next && it.bytes == b"new")
    };
    assert!(is_new(&mut journal), "what was acknowledged waits");
    // Marks that rotted may bring entries back, before it.
    let mut journal = match open(&chip) {
        Ok(journal) => journal,
        Err(JournalError::Corrupt(_)) => return Some(next),
        Err(error) => panic!("{error}"),
    };
    while !is_new(&mut journal) {
        let found = run(journal.oldest()).expect("flash that can be read");
        let number = found.expect("what was acknowledged waits").number;
        run(journal.remove_through(number)).expect("flash");
    }
    Some(next)
}

#[test]
fn a_written_end_of_a_page_takes_a_number_though_no_header_fits_there() {
    let chip = Flash::holding(kept(1, 1), 0);
    chip.change(|bytes| bytes[255] ^= 1);
    let journal = open(&chip).expect("a journal");
    assert_eq!((journal.waiting(), journal.next_number()), (1, 2));
}

/// It has 16 bytes, of which a number takes at least 12.
#[test]
fn a_rotten_empty_entry_at_the_end_of_a_page_takes_two_numbers() {
    let chip = Flash::new(4, 0);
    let mut journal = open(&chip).expect("erased");
    // They fill the page.
    for number in 0..8 {
        let entry = [0; 16];
        let len = if number < 6 { 16 } else { 0 };
        assert_eq!(run(journal.keep(&entry[..len])), Ok(number));
    }
    chip.change(|bytes| bytes[256 - 16] ^= 1);
    let journal = open(&chip).expect("a journal");
    assert_eq!((journal.waiting(), journal.next_number()), (7, 7 + 2));
}

const JOURNALS: [(u32, u32); 4] = [(3, 3), (9, 4), (40, 10), (100, 9)];

#[test]
fn what_is_kept_after_a_byte_has_rotted_is_sent() {
    let mut opened = 0;
    for (entries, waiting) in JOURNALS {
        let bytes = kept(entries, waiting);
        for at in 0..bytes.len() {
            for value in [0, 0xFF, bytes[at] & 0x0F, bytes[at] | 0xF0, !bytes[at]] {
                let mut rotten = bytes.clone();
                rotten[at] = value;
                let Some(next) = lives_on(&rotten, entries) else {
                    continue;
                };
                assert!(next >= entries, "{next} was given before");
                opened += 1;
            }
        }
    }
    // Without the heads of its pages it is an error.
    println!("{opened} of {} opened", 4 * 5 * 1024);
    assert!(opened > 15_000, "{opened}");
}

#[test]
fn what_is_kept_after_pieces_have_rotted_is_sent() {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let mut random = Random::new(seed);
    let mut opened = 0;
    for _ in 0..10 * rounds() {
        let (entries, waiting) = JOURNALS[random.below(4) as usize];
        let mut bytes = kept(entries, waiting);
        for _ in 0..=random.below(3) {
            let start = random.below(1024) as usize;
            let end = (start + 1 + random.below(64) as usize).min(1024);
            let kind = random.below(3);
            for byte in &mut bytes[start..end] {
                *byte = match kind {
                    0 => 0,
                    1 => 0xFF,
                    _ => random.byte(),
                };
            }
        }
        // Where all records are gone, as erased, nothing tells their numbers.
        opened += u32::from(lives_on(&bytes, entries).is_some());
    }
    assert!(opened > 0, "{opened}");
}
