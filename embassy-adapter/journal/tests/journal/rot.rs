// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bits of the flash change by themselves: what was acknowledged is sent, an error is told, or a gap in the numbers says
//! which entry is missing.

use std::collections::BTreeSet;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, wait::WithTimer};
use flash_journal::{
    Corruption, Entry, Journal, JournalConfig, JournalError, TimeLimit, WhenCorrupt, WhenFull,
};

use super::cuts::rounds;
use super::device::Device;
use super::flash::Chip;
use super::random::{Random, run, seed};

type Flash = Chip<1, 4, 256>;

fn open(
    chip: &Flash,
    config: JournalConfig,
) -> Result<Journal<Flash, 20>, JournalError<super::flash::Cut>> {
    run(Journal::open(chip.clone(), chip.range(), config))
}

/// A chip of four pages whose first page holds that many entries.
fn begun(entries: u32) -> Flash {
    let chip = Flash::new(4, 0);
    let mut journal = open(&chip, JournalConfig::new()).expect("erased");
    for number in 0..entries {
        assert_eq!(run(journal.keep(b"twenty bytes, filled")), Ok(number));
    }
    chip
}

#[test]
fn a_rotten_bit_in_the_only_head_is_an_error() {
    for bit in 0..32 * 8 {
        let chip = begun(5);
        chip.change(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        let before = chip.bytes();
        let error = open(&chip, JournalConfig::new()).err();
        assert_eq!(error, Some(JournalError::Corrupt(Corruption::Damaged)));
        assert_eq!(chip.bytes(), before, "left alone");
        let format = JournalConfig::new().when_corrupt(WhenCorrupt::Format);
        assert!(open(&chip, format).is_ok_and(|journal| journal.is_new()));
    }
}

/// The number of the entry stands in the page before, as its sending failed.
#[test]
fn a_page_that_lost_its_head_is_found_by_an_entry_whose_number_was_noted() {
    let chip = begun(5);
    let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
    assert_eq!(run(journal.remove_through(4)), Ok(5));
    let radio = Breaker::new(
        Config::new(),
        WithTimer {
            clock: ManualClock::new(),
            timer: EmbassyTimer,
        },
    );
    let fails = async |_: Entry<'_>| Err::<(), ()>(());
    let bytes = b"twenty bytes, filled";
    let sent = run(journal.send_or_keep(&radio, TimeLimit::NONE, bytes, fails));
    assert!(sent.is_ok_and(|sent| sent.count == 0) && journal.next_number() == 6);
    chip.change(|bytes| {
        assert_eq!(&bytes[256..260], b"abj1", "it lies in the next page");
        bytes[256] ^= 1;
    });
    let error = open(&chip, JournalConfig::new()).err();
    assert_eq!(error, Some(JournalError::Corrupt(Corruption::Damaged)));
}

#[test]
fn the_number_of_a_rotten_last_entry_is_not_given_again() {
    for entries in 1..=5 {
        let last = 32 + 36 * (entries as usize - 1);
        // All of it but its mark.
        for bit in last * 8..(last + 32) * 8 {
            let chip = begun(entries);
            chip.change(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
            assert_eq!(journal.waiting(), entries - 1);
            let next = run(journal.keep(b"new")).expect("room");
            assert!(next >= entries, "{next} at bit {bit}");
        }
    }
}

#[test]
fn a_rotten_bit_in_a_mark_loses_no_entry() {
    for bit in 0..32 {
        let chip = begun(3);
        let mark = 32 + 36 + 32;
        chip.change(|bytes| bytes[mark + bit / 8] ^= 1 << (bit % 8));
        let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
        assert_eq!(journal.waiting(), 3);
        for number in 0..3 {
            assert_eq!(run(journal.remove_through(number)), Ok(1));
        }
        let journal = open(&chip, JournalConfig::new()).expect("a journal");
        assert_eq!(journal.waiting(), 0, "what came later was sent");
    }
}

#[test]
fn foreign_data_beside_a_written_grain_of_the_last_page_is_left_alone() {
    for grain in [[0; 4], *b"abj1", [0xFF, 0xFF, 0xFF, 0xFE]] {
        let mut bytes = vec![0xFF; 1024];
        bytes[..200].fill(7);
        bytes[768..772].copy_from_slice(&grain);
        let chip = Flash::holding(bytes.clone(), 0);
        let error = open(&chip, JournalConfig::new()).err();
        assert_eq!(error, Some(JournalError::Corrupt(Corruption::Garbage)));
        assert_eq!(chip.bytes(), bytes);
    }
}

/// Bytes of an entry that look like the header of a longer one.
#[test]
fn a_rotten_header_does_not_hide_the_entries_after_it() {
    let chip = Flash::new(4, 0);
    let mut journal = open(&chip, JournalConfig::new()).expect("erased");
    let lookalike = [40, 0, 0xFF - 40, 0xFF];
    for _ in 0..4 {
        run(journal.keep(&lookalike.repeat(5))).expect("room");
    }
    chip.change(|bytes| bytes[32 + 36] ^= 1);
    let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
    for number in [0, 2, 3] {
        let entry = run(journal.oldest()).expect("it works").expect("it waits");
        assert_eq!(entry.number, number);
        assert_eq!(run(journal.remove_through(number)), Ok(1));
    }
    assert_eq!(run(journal.oldest()), Ok(None));
}

#[test]
fn an_entry_is_written_only_where_the_flash_is_erased() {
    for at in 32 + 36..256 {
        let chip = begun(1);
        let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
        chip.change(|bytes| bytes[at] ^= 1);
        assert_eq!(run(journal.keep(b"twenty bytes, filled")), Ok(1));
        let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
        assert_eq!(run(journal.remove_through(1)), Ok(2), "at {at}");
    }
}

/// Every bit of a device in use changes once.
fn every_bit<const R: usize, const W: usize, const E: usize>(
    pages: usize,
    steps: u32,
    config: JournalConfig,
    seed: u64,
) {
    let mut device = Device::<R, W, E>::new(pages, WhenFull::Refuse, seed);
    device.config = config;
    let mut journal = device.start();
    for _ in 0..steps {
        device.step(&mut journal, u64::MAX).expect("power");
    }
    for bit in 0..pages * E * 8 {
        let mut device = device.copy();
        device.rotten = 1;
        device.chip.change(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        match device.try_start() {
            Ok(journal) if journal.is_new() => device.check_new(),
            Ok(journal) => device.drain_and_check(journal),
            Err(_) => {}
        }
    }
}

#[test]
fn one_rotten_bit_loses_one_entry_at_most_or_is_an_error() {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let dropping = JournalConfig::new().when_full(WhenFull::DropOldest);
    for config in [dropping, dropping.when_corrupt(WhenCorrupt::Format)] {
        for steps in [1, 2, 5, 11, 23, 47] {
            let seed = seed.wrapping_add(u64::from(steps));
            every_bit::<1, 4, 128>(2, steps, config, seed);
            every_bit::<1, 4, 256>(3, steps, config, seed);
            every_bit::<8, 8, 256>(3, steps, config, seed);
            every_bit::<1, 32, 256>(3, steps, config, seed);
        }
    }
}

/// Changes a bit: each at most once, and never in both the head of a page and its entries, as then nothing would be left of
/// that page.
fn change_a_bit<const R: usize, const W: usize, const E: usize>(
    device: &mut Device<R, W, E>,
    bit: usize,
    changed: &mut BTreeSet<usize>,
) {
    let page = bit / (E * 8) * E * 8;
    let entries = page + 32 * 8;
    let others = if bit < entries {
        entries..page + E * 8
    } else {
        page..entries
    };
    if changed.range(others).next().is_some() || !changed.insert(bit) {
        return;
    }
    device.chip.change(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
    device.rotten += 1;
}

/// Bits change and the power fails, again and again; returns whether an error or a new journal told of it.
fn storm<const R: usize, const W: usize, const E: usize>(pages: usize, seed: u64) -> bool {
    let mut random = Random::new(seed);
    let mut device = Device::<R, W, E>::new(pages, WhenFull::Refuse, seed);
    device.receiver.ignores_old_ones = true;
    if random.one_in(2) {
        device.config = device.config.when_full(WhenFull::DropOldest);
    }
    if random.one_in(2) {
        device.config = device.config.when_corrupt(WhenCorrupt::Format);
    }
    let mut journal = device.start();
    let mut changed = BTreeSet::new();
    for _ in 0..100 {
        if random.one_in(10) {
            let bit = random.below((pages * E * 8) as u64) as usize;
            change_a_bit(&mut device, bit, &mut changed);
        }
        if random.one_in(6) {
            device.chip.cut_after(random.below(2 * E as u64));
        }
        let was_cut = device.step(&mut journal, u64::MAX).is_err();
        if !was_cut && !random.one_in(10) {
            continue;
        }
        device.lose_power();
        journal = match device.try_start() {
            Ok(journal) => journal,
            Err(_) => return true,
        };
        if journal.is_new() {
            device.check_new();
            return true;
        }
    }
    device.chip.power_up();
    match device.try_start() {
        Ok(journal) if journal.is_new() => device.check_new(),
        Ok(journal) => {
            device.drain_and_check(journal);
            return false;
        }
        Err(_) => {}
    }
    true
}

#[test]
fn rotten_bits_and_cuts_lose_nothing_in_silence() {
    let seed = seed();
    let mut told = 0;
    for round in 0..rounds() {
        let seed = seed.wrapping_add(round * 1_000);
        println!("JOURNAL_SEED={seed}");
        told += u32::from(storm::<1, 4, 256>(3, seed));
        told += u32::from(storm::<4, 4, 128>(5, seed + 1));
        told += u32::from(storm::<1, 1, 128>(2, seed + 2));
        told += u32::from(storm::<8, 8, 256>(4, seed + 3));
        told += u32::from(storm::<1, 32, 256>(3, seed + 4));
    }
    println!("told of {told} of {}", 5 * rounds());
}

#[test]
fn a_rotten_grain_takes_no_more_room_than_itself() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, JournalConfig::new()).expect("erased");
    chip.change(|bytes| bytes[32 + 4] ^= 1);
    // 32 bytes each: 216 bytes are left in the first page, and 224 in the second.
    for number in 0..6 + 7 {
        assert_eq!(run(journal.keep(b"of sixteen bytes")), Ok(number));
    }
    let refused = run(journal.keep(b"of sixteen bytes"));
    assert_eq!(refused, Err(JournalError::Full));
}

#[test]
fn an_entry_that_rots_while_the_journal_is_open_waits_no_more() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, JournalConfig::new()).expect("erased");
    for number in 0..2 {
        assert_eq!(run(journal.keep(b"twenty bytes, filled")), Ok(number));
    }
    chip.change(|bytes| bytes[32 + 12] ^= 1);
    let oldest = run(journal.oldest()).expect("it works").expect("it waits");
    assert_eq!(oldest.number, 1);
    assert_eq!(run(journal.remove_through(1)), Ok(1));
    assert_eq!((journal.waiting(), journal.next_number()), (0, 2));
    assert_eq!(run(journal.keep(b"twenty bytes, filled")), Ok(2));
}

#[test]
fn an_unreadable_end_of_a_page_takes_as_many_numbers_as_may_have_been_in_it() {
    let chip = Flash::new(3, 0);
    let mut journal = open(&chip, JournalConfig::new()).expect("erased");
    // 32 bytes each, which fill the page.
    for number in 0..7 {
        assert_eq!(run(journal.keep(b"of sixteen bytes")), Ok(number));
    }
    assert_eq!(run(journal.remove_through(6)), Ok(7));
    chip.change(|bytes| bytes[256 - 32] ^= 1);
    let journal = open(&chip, JournalConfig::new()).expect("a journal");
    // A record is of 12 bytes at least.
    assert_eq!((journal.waiting(), journal.next_number()), (0, 6 + 3));
}

/// Nothing but the header of an entry was written, and its number is not the one that was due.
#[test]
fn what_is_kept_after_an_interrupted_header_is_sent_whatever_its_number_is() {
    let chip = Flash::new(4, 0);
    let mut journal = open(&chip, JournalConfig::new()).expect("erased");
    for number in 0..2 {
        assert_eq!(run(journal.keep(b"old")), Ok(number));
    }
    // 20 bytes each. A page holds 19 records at most, so this number is too high for the first.
    chip.change(|bytes| bytes[72..84].copy_from_slice(&[20, 0, !20, !0, 25, 0, 0, 0, 0, 0, 0, 0]));
    let mut journal = open(&chip, JournalConfig::new()).expect("a journal");
    for number in 3..27 {
        assert_eq!(run(journal.keep(b"new")), Ok(number));
    }
    assert_eq!(run(journal.remove_through(26)), Ok(26));
}
