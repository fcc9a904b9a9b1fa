// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes that were cut off and left nothing to read: no other bytes come where they were begun.

use flash_journal::{Journal, JournalConfig, JournalError};

use super::flash::{Chip, Cut};
use super::random::run;

type Open<const W: usize> = Journal<Chip<1, W, 256>, 16>;

fn open<const W: usize>(chip: &Chip<1, W, 256>) -> Open<W> {
    chip.power_up();
    let config = JournalConfig::new();
    run(Journal::open(chip.clone(), chip.range(), config)).expect("a journal")
}

fn cut_off<const W: usize>(chip: &Chip<1, W, 256>, journal: &mut Open<W>, bytes: u64) {
    chip.cut_after(bytes);
    let kept = run(journal.keep(b"cut off"));
    assert_eq!(kept, Err(JournalError::Flash(Cut)));
}

/// The power fails in that byte of a write, as the first one after a start or a later one, and what was begun reads as
/// erased. The chip sees each other byte that comes there.
fn begins_nothing_twice<const W: usize>() {
    for bytes in 0..20 {
        for starts in 1..4 {
            let chip = Chip::<1, W, 256>::new(3, 0);
            chip.lose_what_is_cut_off();
            let mut journal = open(&chip);
            run(journal.keep(b"first")).expect("room");
            for _ in 0..starts {
                cut_off(&chip, &mut journal, bytes);
                journal = open(&chip);
            }
            // One that was cut off after its last byte is there.
            let waiting = journal.waiting();
            assert!(waiting > 0, "{bytes}, {starts}");
            let number = run(journal.keep(b"another")).expect("room");
            let mut journal = open(&chip);
            assert_eq!(journal.waiting(), waiting + 1, "{bytes}, {starts}");
            assert_eq!(journal.next_number(), number + 1);
            run(journal.remove_through(number - 1)).expect("flash");
            let oldest = run(journal.oldest()).expect("flash").expect("it waits");
            assert_eq!((oldest.number, oldest.bytes), (number, &b"another"[..]));
        }
    }
}

#[test]
fn nothing_is_written_where_a_write_was_cut_off_that_left_nothing_to_read() {
    begins_nothing_twice::<1>();
    begins_nothing_twice::<4>();
    begins_nothing_twice::<8>();
    begins_nothing_twice::<32>();
}

/// Each of its two writes is cut off at once, so nothing in the flash changes.
#[test]
fn starts_whose_first_write_is_cut_off_at_once_take_no_room() {
    let chip = Chip::<1, 4, 256>::new(3, 0);
    chip.lose_what_is_cut_off();
    let mut journal = open(&chip);
    run(journal.keep(b"first")).expect("room");
    let before = chip.bytes();
    for _ in 0..3_000 {
        journal = open(&chip);
        cut_off(&chip, &mut journal, 0);
    }
    assert_eq!(chip.bytes(), before);
    assert_eq!(run(open(&chip).keep(b"second")), Ok(1));
}

#[test]
fn starts_without_an_entry_write_nothing_and_others_take_two_grains_more() {
    let chip = Chip::<1, 4, 4096>::new(2, 0);
    let open = || {
        let opened = Journal::<_, 16>::open(chip.clone(), chip.range(), JournalConfig::new());
        run(opened).expect("a journal")
    };
    open();
    let before = chip.bytes();
    for _ in 0..3_000 {
        open();
    }
    assert_eq!(chip.bytes(), before);
    // The head; records of 12 + 4 + 4 bytes, each with two grains before it.
    let fits = (4096 - 32) / (20 + 8);
    for number in 0..fits {
        assert_eq!(run(open().keep(b"four")), Ok(number));
    }
    assert_eq!(run(open().keep(b"four")), Err(JournalError::Full));
}

/// Of the last entry that waits, so that no later mark tells that it was sent.
#[test]
fn an_entry_whose_mark_is_cut_off_is_sent_again_after_one_start_at_most() {
    let (mut again, mut never) = (0, 0);
    for seed in 0..64 {
        let chip = Chip::<1, 4, 256>::new(3, seed);
        let mut journal = open(&chip);
        run(journal.keep(b"only")).expect("room");
        chip.cut_after(seed % 4);
        let removed = run(journal.remove_through(0));
        assert_eq!(removed, Err(JournalError::Flash(Cut)));
        let mut sent = 0;
        for _ in 0..5 {
            let mut journal = open(&chip);
            if journal.waiting() > 0 {
                sent += run(journal.remove_through(0)).expect("flash");
            }
        }
        assert!(sent <= 1, "{seed}: sent again {sent} times");
        (again, never) = (again + sent, never + 1 - sent);
        assert!(run(open(&chip).keep(b"new")).is_ok_and(|number| number > 0));
    }
    println!("sent again {again}, known as sent {never}");
}
