// SPDX-License-Identifier: MIT OR Apache-2.0
//! The formatting of failing pages, and its limits.

use flash_journal::{Journal, JournalConfig, WhenCorrupt, WhenFull};

use super::pages::Pages;
use super::random::run;
use super::refuses::Refuses;

const LONGEST: usize = 24;

type Open = Journal<Pages<1, 4, 256>, LONGEST>;

/// The head of a page goes, its records stay: in a new journal they would have numbers that are still to come.
#[test]
fn a_journal_formatted_where_old_records_cannot_be_erased_goes_on() {
    for (ill, lost) in (0..4).flat_map(|ill| (0..4).map(move |lost| (ill, lost))) {
        let flash = Pages::<1, 4, 256>::new(4, 1);
        let open = |config| {
            let flash = flash.clone();
            let range = flash.chip.range();
            run(Journal::<_, LONGEST>::open(flash, range, config)).expect("a journal")
        };
        let config = JournalConfig::new();
        let mut journal = open(config);
        for _ in 0..15 {
            run(journal.keep(&[1; 20])).expect("room");
        }
        flash.half.set(Some(ill));
        flash.chip.change(|bytes| bytes[lost * 256] ^= 1);
        let config = config.when_corrupt(WhenCorrupt::Format);
        let mut journal = open(config);
        if !journal.is_new() {
            // The page that is due to be erased.
            continue;
        }
        let first = journal.next_number();
        let kept = (0..3).filter(|reading| run(journal.keep(&[*reading; 20])).is_ok());
        let kept = kept.count();
        assert!(kept > 0, "page {ill}, {lost} lost");
        let mut journal = open(config);
        let found = (journal.is_new(), journal.waiting() as usize);
        assert_eq!(found, (false, kept), "page {ill}, {lost} lost");
        let oldest = run(journal.oldest()).unwrap().map(|entry| entry.number);
        assert_eq!(oldest, Some(first), "page {ill}, {lost} lost");
    }
}

/// The page before the youngest could not be begun anew, and a mark says that nothing in it waited. That mark is read
/// wrong once: the reading of each operation of a start in turn.
#[test]
fn a_read_that_is_wrong_once_formats_no_journal_that_has_left_out_a_page() {
    let config = JournalConfig::new().when_corrupt(WhenCorrupt::Format);
    for wrong in 0.. {
        let flash = Pages::<1, 4, 256>::new(3, 1);
        let open = || run(Open::open(flash.clone(), flash.chip.range(), config));
        let mut journal = open().expect("erased");
        // Up to the end of the second page: one entry in it was sent, the others wait.
        for number in 0..10 {
            assert_eq!(run(journal.keep(&[1; 20])), Ok(number));
        }
        assert!(run(journal.remove_through(6)).is_ok());
        // Neither the third page nor the first one can be begun; the first one is erased.
        flash.refuses.borrow_mut()[2] = Some(Refuses::AllWrites { tells: false });
        flash.refuses.borrow_mut()[0] = Some(Refuses::Head { tells: false });
        let config = config.when_full(WhenFull::DropOldest);
        let opened = run(Open::open(flash.clone(), flash.chip.range(), config));
        let mut journal = opened.expect("a journal");
        while run(journal.keep(&[1; 20])).is_ok() {}
        let waiting = open().expect("a journal").waiting();
        assert_eq!(flash.chip.bytes()[..32], [0xFF; 32]);
        flash.wrong.set(Some(wrong));
        let journal = open().expect("a journal");
        let found = (journal.is_new(), journal.waiting());
        assert!(!found.0 && found.1 >= waiting, "read {wrong}: {found:?}");
        if flash.wrong.get().is_some() {
            assert!(wrong > 20, "{wrong}");
            return;
        }
    }
}
