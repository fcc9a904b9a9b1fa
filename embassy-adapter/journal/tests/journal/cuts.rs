// SPDX-License-Identifier: MIT OR Apache-2.0
//! The power fails after every byte of a history, and again and again in random ones.

use flash_journal::{Journal, JournalConfig, WhenFull};

use super::device::Device;
use super::flash::Chip;
use super::random::{Random, run, seed};

/// One history, in which the power fails once after that many bytes; returns how many it has written and erased.
fn history<const R: usize, const W: usize, const E: usize>(
    pages: usize,
    when_full: WhenFull,
    cut: Option<u64>,
) -> u64 {
    // The same steps each time; what a cut leaves differs from cut to cut.
    let mut device = Device::<R, W, E>::new(pages, when_full, 7);
    if let Some(cut) = cut {
        device.chip.cut_after(cut);
    }
    let mut journal = device.start();
    for _ in 0..60 {
        if device.step(&mut journal, u64::MAX).is_err() {
            device.lose_power();
            journal = device.start();
        }
    }
    assert!(cut.is_none() || device.cuts == 1);
    let spent = device.chip.spent();
    device.drain_and_check(journal);
    spent
}

fn cut_everywhere<const R: usize, const W: usize, const E: usize>(pages: usize) {
    for when_full in [WhenFull::Refuse, WhenFull::DropOldest] {
        let whole = history::<R, W, E>(pages, when_full, None);
        for cut in 0..whole {
            history::<R, W, E>(pages, when_full, Some(cut));
        }
        println!("{when_full:?}, {pages} pages, writes of {W}: cut after each of {whole} bytes");
    }
}

#[test]
fn nothing_is_lost_wherever_the_power_fails_once() {
    cut_everywhere::<1, 4, 256>(3);
    cut_everywhere::<4, 4, 128>(4);
    cut_everywhere::<1, 1, 128>(2);
    cut_everywhere::<8, 8, 256>(3);
    cut_everywhere::<1, 32, 512>(3);
}

/// First in the mark that tells a formatting, so that it is written once more beside what is left of it; then anywhere.
#[test]
fn a_formatting_that_is_cut_off_twice_goes_on() {
    for seed in 0..8 {
        for (first, second) in (1..4).flat_map(|first| (0..300).map(move |second| (first, second)))
        {
            let chip = Chip::<1, 4, 256>::new(3, seed);
            let open = || {
                let config = JournalConfig::new();
                let opened = run(Journal::<_, 0>::open(chip.clone(), chip.range(), config));
                chip.power_up();
                opened
            };
            chip.cut_after(first);
            assert!(open().is_err());
            chip.cut_after(second);
            let _ = open();
            let journal = open().expect("what was begun");
            assert!(
                journal.is_new() && journal.waiting() == 0,
                "{first}, {second}"
            );
        }
    }
}

/// Each takes a grain and a number, and each start two grains.
#[test]
fn what_is_kept_between_entries_that_were_cut_off_early_is_sent() {
    let chip = Chip::<1, 4, 256>::new(3, 0);
    let open = || {
        run(Journal::<_, 0>::open(
            chip.clone(),
            chip.range(),
            JournalConfig::new(),
        ))
    };
    let mut last = None;
    for kept in 0..16 {
        let mut journal = open().expect("a journal");
        assert_eq!(journal.waiting(), kept);
        let number = run(journal.keep(&[])).expect("room");
        assert!(last.replace(number) < Some(number), "{number} again");
        chip.cut_after(3);
        assert!(run(journal.keep(&[])).is_err());
        chip.power_up();
    }
}

/// Many cuts, including some during a start.
fn storm<const R: usize, const W: usize, const E: usize>(pages: usize, seed: u64) {
    let mut random = Random::new(seed);
    let when_full = if random.one_in(2) {
        WhenFull::Refuse
    } else {
        WhenFull::DropOldest
    };
    let mut device = Device::<R, W, E>::new(pages, when_full, seed);
    device.receiver.ignores_old_ones = true;
    device.chip.cut_after(random.below(E as u64));
    let mut journal = device.start();
    for _ in 0..200 {
        if !device.chip.is_off() && random.one_in(4) {
            device.chip.cut_after(random.below(2 * E as u64));
        }
        if device.step(&mut journal, u64::MAX).is_err() {
            device.lose_power();
            if random.one_in(2) {
                device.chip.cut_after(random.below(E as u64));
            }
            journal = device.start();
        }
    }
    device.chip.power_up();
    let journal = device.start();
    device.drain_and_check(journal);
}

/// `JOURNAL_ROUNDS` sets the number of rounds.
pub(crate) fn rounds() -> u64 {
    std::env::var("JOURNAL_ROUNDS").map_or(300, |rounds| rounds.parse().expect("a number"))
}

#[test]
fn nothing_is_lost_when_the_power_fails_again_and_again() {
    let seed = seed();
    for round in 0..rounds() {
        let seed = seed.wrapping_add(round * 1_000);
        println!("JOURNAL_SEED={seed}");
        storm::<1, 4, 256>(3, seed);
        storm::<4, 4, 128>(5, seed + 1);
        storm::<1, 1, 128>(2, seed + 2);
        storm::<8, 8, 256>(4, seed + 3);
    }
}

/// Futures that are dropped after some polls, without a reset: the same journal goes on. Returns how many were dropped.
fn impatient(polls: u64, when_full: WhenFull) -> u32 {
    let mut device = Device::<1, 4, 128>::new(3, when_full, 11);
    device.chip.slow_down();
    let mut journal = device.start();
    for step in 0..120 {
        let polls = if step % 2 == 0 { polls } else { u64::MAX };
        device.cuts += u32::from(device.step(&mut journal, polls).is_err());
    }
    let dropped = device.cuts;
    device.drain_and_check(journal);
    dropped
}

#[test]
fn nothing_is_lost_when_operations_are_dropped() {
    for when_full in [WhenFull::Refuse, WhenFull::DropOldest] {
        let longest = (1..1_000).find(|polls| impatient(*polls, when_full) == 0);
        println!("{when_full:?}: dropped after each of up to {longest:?} polls");
        assert!(longest > Some(20), "{longest:?}");
    }
}
