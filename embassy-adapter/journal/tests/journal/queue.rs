// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries that are kept, refused or dropped, and their counts.

use flash_journal::{Journal, JournalConfig, JournalError, WhenFull};

use super::flash::Chip;
use super::random::run;

type Flash = Chip<4, 4, 256>;

const DROPPING: JournalConfig = JournalConfig::new().when_full(WhenFull::DropOldest);

fn open(chip: &Flash, config: JournalConfig) -> Journal<Flash, 20> {
    run(Journal::open(chip.clone(), chip.range(), config)).expect("a journal")
}

fn keep(
    journal: &mut Journal<Flash, 20>,
    text: &str,
) -> Result<u32, JournalError<super::flash::Cut>> {
    run(journal.keep(text.as_bytes()))
}

/// Takes out everything that waits.
fn take(journal: &mut Journal<Flash, 20>) -> Vec<(u32, String)> {
    let mut taken = Vec::new();
    while let Some(entry) = run(journal.oldest()).expect("it works") {
        let number = entry.number;
        taken.push((number, String::from_utf8_lossy(entry.bytes).into_owned()));
        assert_eq!(run(journal.remove_through(number)), Ok(1));
    }
    taken
}

#[test]
fn entries_come_out_in_order_after_a_reset() {
    let chip = Flash::new(4, 0);
    let mut journal = open(&chip, JournalConfig::new());
    assert!(journal.is_new());
    for text in ["one", "", "three, and longer"] {
        keep(&mut journal, text).expect("room");
    }
    drop(journal);
    let mut journal = open(&chip, JournalConfig::new());
    assert!(!journal.is_new());
    assert_eq!((journal.waiting(), journal.next_number()), (3, 3));
    let expected = [(0, "one"), (1, ""), (2, "three, and longer")];
    assert_eq!(
        take(&mut journal),
        expected.map(|(number, text)| (number, text.to_owned()))
    );
}

#[test]
fn numbers_go_on_after_a_reset_from_an_empty_journal() {
    let chip = Flash::new(3, 0);
    let mut expected = 0;
    for _ in 0..100 {
        let mut journal = open(&chip, JournalConfig::new());
        assert_eq!((journal.waiting(), journal.next_number()), (0, expected));
        for _ in 0..=expected % 4 {
            assert_eq!(keep(&mut journal, "reading"), Ok(expected));
            expected += 1;
        }
        take(&mut journal);
    }
}

#[test]
fn a_full_journal_refuses_until_all_entries_of_its_oldest_page_are_sent() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, JournalConfig::new());
    let mut kept = 0;
    while keep(&mut journal, "twenty bytes, filled") == Ok(kept) {
        kept += 1;
    }
    // 36 bytes each, six after the head of a page; two of three pages hold entries.
    assert_eq!((kept, journal.waiting()), (12, 12));
    assert_eq!(keep(&mut journal, "another"), Err(JournalError::Full));
    assert_eq!((journal.refused(), journal.dropped()), (2, 0));
    assert_eq!(run(journal.remove_through(4)), Ok(5));
    assert_eq!(
        keep(&mut journal, "another"),
        Err(JournalError::Full),
        "the page is in use"
    );
    assert_eq!(run(journal.remove_through(5)), Ok(1));
    assert_eq!(
        keep(&mut journal, "another"),
        Ok(12),
        "no number for what was refused"
    );
    let numbers: Vec<_> = take(&mut journal).iter().map(|entry| entry.0).collect();
    assert_eq!(numbers, (6..=12).collect::<Vec<_>>());
}

#[test]
fn a_page_is_filled_to_its_last_byte() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, JournalConfig::new());
    // 32 bytes each, and 224 after the head of a page.
    for number in 0..14 {
        assert_eq!(keep(&mut journal, "of sixteen bytes"), Ok(number));
    }
    assert_eq!(keep(&mut journal, ""), Err(JournalError::Full));
    drop(journal);
    let mut journal = open(&chip, JournalConfig::new());
    assert_eq!((journal.waiting(), journal.next_number()), (14, 14));
    assert_eq!(take(&mut journal).len(), 14);
}

#[test]
fn what_is_printed_of_a_journal_is_what_it_counts() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, DROPPING);
    for _ in 0..13 {
        keep(&mut journal, "twenty bytes, filled").expect("room");
    }
    assert_eq!(
        format!("{journal:?}"),
        "Journal { waiting: 7, next_number: 13, dropped: 6, refused: 0, .. }"
    );
}

#[test]
fn a_full_journal_drops_the_oldest_page_and_counts_what_it_held() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, DROPPING);
    for number in 0..13 {
        assert_eq!(keep(&mut journal, "twenty bytes, filled"), Ok(number));
    }
    assert_eq!(
        (journal.waiting(), journal.dropped(), journal.refused()),
        (7, 6, 0)
    );
    run(journal.remove_through(7)).expect("it works");
    for number in 13..19 {
        assert_eq!(keep(&mut journal, "twenty bytes, filled"), Ok(number));
    }
    assert_eq!(
        (journal.waiting(), journal.dropped()),
        (7, 10),
        "what was sent is not lost"
    );
    drop(journal);
    let mut journal = open(&chip, DROPPING);
    assert_eq!(
        (journal.waiting(), journal.dropped()),
        (7, 10),
        "over a reset, too"
    );
    assert_eq!(take(&mut journal)[0].0, 12);
}

#[test]
fn an_empty_entry_cut_off_after_its_length_does_not_count() {
    let chip = Flash::new(3, 0);
    let start = open(&chip, JournalConfig::new());
    assert_eq!(start.waiting(), 0);
    // A length of 0, twice; its number and its checksum are still erased.
    chip.change(|bytes| bytes[32..34].fill(0));
    let mut journal = open(&chip, JournalConfig::new());
    assert_eq!(journal.waiting(), 0);
    // It might have been kept, and have become unreadable.
    assert_eq!(keep(&mut journal, ""), Ok(1));
}

#[test]
fn removing_leaves_what_came_later() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, DROPPING);
    for _ in 0..13 {
        keep(&mut journal, "twenty bytes, filled").expect("room");
    }
    assert_eq!(run(journal.remove_through(3)), Ok(0), "dropped already");
    assert_eq!(run(journal.remove_through(8)), Ok(3));
    assert_eq!(run(journal.remove_through(u32::MAX)), Ok(4));
    assert_eq!(run(journal.remove_through(u32::MAX)), Ok(0));
    assert_eq!(run(journal.oldest()), Ok(None));
}

#[test]
fn entries_that_are_too_long_are_an_error_that_names_both_lengths() {
    let chip = Flash::new(2, 0);
    let mut journal = open(&chip, JournalConfig::new());
    let too_long = JournalError::TooLong {
        len: 21,
        longest: 20,
    };
    assert_eq!(run(journal.keep(&[0; 21])), Err(too_long));
    assert_eq!(
        too_long.to_string(),
        "an entry has 21 bytes, but this journal takes at most 20: raise its longest entry"
    );
    assert_eq!((journal.next_number(), journal.waiting()), (0, 0));

    keep(&mut journal, "ten bytes.").expect("room");
    let open_narrow = || {
        let opened = Journal::<_, 9>::open(chip.clone(), chip.range(), JournalConfig::new());
        run(opened)
    };
    let too_long = JournalError::TooLong {
        len: 10,
        longest: 9,
    };
    assert_eq!(open_narrow().err(), Some(too_long));
    take(&mut journal);
    assert!(open_narrow().is_ok());
}

#[test]
fn numbers_start_where_set_and_end_with_an_error() {
    let chip = Flash::new(2, 0);
    let config = JournalConfig::new().first_number(u32::MAX - 2);
    let mut journal = open(&chip, config);
    assert_eq!(keep(&mut journal, "last but one"), Ok(u32::MAX - 2));
    assert_eq!(keep(&mut journal, "last"), Ok(u32::MAX - 1));
    assert_eq!(keep(&mut journal, "none"), Err(JournalError::Exhausted));
    let mut journal = open(&chip, config);
    assert_eq!(keep(&mut journal, "none"), Err(JournalError::Exhausted));
    assert_eq!(take(&mut journal).len(), 2);
}

#[test]
fn two_journals_share_a_chip() {
    let chip = Flash::new(4, 0);
    let open = |range| run(Journal::<_, 20>::open(chip.clone(), range, DROPPING)).expect("it fits");
    let (mut one, mut other) = (open(0..512), open(512..1024));
    for _ in 0..40 {
        run(one.keep(b"one")).expect("room");
        run(other.keep(b"other")).expect("room");
    }
    let entry = run(one.oldest()).expect("it works").expect("it waits");
    assert_eq!(entry.bytes, b"one");
    let entry = run(other.oldest()).expect("it works").expect("it waits");
    assert_eq!(entry.bytes, b"other");
}

#[test]
fn a_journal_takes_as_much_memory_as_documented() {
    assert_eq!(size_of::<Journal<(), 0>>(), 80);
    assert_eq!(size_of::<Journal<(), 32>>(), 80 + 32);
}
