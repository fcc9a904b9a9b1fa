// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges, flashes and longest entries that fit together, or do not.

use flash_journal::{Journal, JournalConfig, JournalError, Misfit, WhenFull};

use super::flash::Chip;
use super::random::run;

type Flash = Chip<4, 4, 256>;

const DROPPING: JournalConfig = JournalConfig::new().when_full(WhenFull::DropOldest);

#[test]
fn an_entry_may_fill_a_page() {
    let chip = Flash::new(2, 0);
    let range = chip.range();
    let larger = run(Journal::<_, 209>::open(
        chip.clone(),
        range.clone(),
        DROPPING,
    ));
    let misfit = Misfit::EntryTooLong { fits: 208 };
    assert_eq!(larger.err(), Some(JournalError::Misfit(misfit)));
    let mut journal = run(Journal::<_, 208>::open(chip.clone(), range, DROPPING)).expect("it fits");
    for number in 0..5 {
        assert_eq!(run(journal.keep(&[number as u8; 208])), Ok(number));
        let entry = run(journal.oldest()).expect("it works").expect("it waits");
        assert_eq!(
            (entry.number, entry.bytes),
            (number, &[number as u8; 208][..])
        );
    }
    assert_eq!((journal.waiting(), journal.dropped()), (1, 4));
}

/// The length of an entry has 16 bits, one value of which means that nothing is kept.
#[test]
fn an_entry_has_up_to_65534_bytes_however_long_a_page_is() {
    const LEN: usize = 65_534;
    let chip = Chip::<1, 32, { 128 * 1024 }>::new(2, 0);
    let range = chip.range();
    let larger = run(Journal::<_, { LEN + 1 }>::open(
        chip.clone(),
        range.clone(),
        DROPPING,
    ));
    let misfit = Misfit::EntryTooLong { fits: LEN as u32 };
    assert_eq!(larger.err(), Some(JournalError::Misfit(misfit)));
    let mut journal = run(Journal::<_, LEN>::open(chip, range, DROPPING)).expect("it fits");
    let longest = vec![7; LEN];
    assert_eq!(run(journal.keep(&longest)), Ok(0));
    let entry = run(journal.oldest()).expect("it works").expect("it waits");
    assert!(entry.bytes == longest);
}

#[test]
fn a_range_that_does_not_fit_is_an_error_that_says_which_would() {
    let chip = Flash::new(4, 0);
    let misfit = |range| run(Journal::<_, 20>::open(chip.clone(), range, DROPPING)).err();
    for (range, expected, text) in [
        (
            0..1000,
            Misfit::Unaligned { page: 256 },
            "a multiple of 256 bytes",
        ),
        (
            4..512,
            Misfit::Unaligned { page: 256 },
            "a multiple of 256 bytes",
        ),
        (
            256..512,
            Misfit::TooFewPages { page: 256 },
            "at least two pages of 256 bytes",
        ),
        #[expect(clippy::reversed_empty_ranges, reason = "a mistake that is made")]
        (
            512..0,
            Misfit::TooFewPages { page: 256 },
            "at least two pages of 256 bytes",
        ),
        (
            0..1280,
            Misfit::BeyondTheEnd { capacity: 1024 },
            "which has 1024 bytes",
        ),
    ] {
        let error = misfit(range).expect("it does not fit");
        assert_eq!(error, JournalError::Misfit(expected));
        assert!(error.to_string().contains(text), "{error}");
    }
}

/// Returns whether a flash fits that reads `R`, writes `W` and erases `E` bytes.
fn fits<const R: usize, const W: usize, const E: usize>() -> bool {
    let chip = Chip::<R, W, E>::new(4, 0);
    match run(Journal::<_, 0>::open(chip.clone(), chip.range(), DROPPING)) {
        Ok(_) => true,
        Err(JournalError::Misfit(Misfit::Flash)) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_flash_fits_if_its_units_divide_32_bytes_and_each_other_and_its_pages_hold_a_head() {
    assert!(fits::<1, 1, 64>() && fits::<1, 4, 256>() && fits::<32, 1, 256>());
    assert!(!fits::<1, 64, 256>() && !fits::<64, 1, 256>());
    assert!(!fits::<3, 4, 256>() && !fits::<4, 3, 256>() && !fits::<1, 12, 240>());
    assert!(!fits::<0, 4, 256>() && !fits::<4, 0, 256>() && !fits::<4, 4, 0>());
    assert!(!fits::<4, 8, 100>() && !fits::<4, 4, 40>());
}
