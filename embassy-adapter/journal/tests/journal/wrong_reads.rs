// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads that are wrong several times in a row, or for good: anywhere, or at one place, with the same wrong answer or with
//! different ones.

use std::ops::Range;

use flash_journal::{Journal, JournalConfig, JournalError, WhenCorrupt};

use super::case::{Case, End};
use super::flash::Chip;
use super::ill::{Failed, Ill, PAGE};
use super::ledger::{Ledger, Open};
use super::plan::{Fault, Plan};
use super::random::{run, seed};
use super::together::stride;

const CONFIG: JournalConfig = JournalConfig::new();
const ANYWHERE: Range<usize> = 0..0;

/// The results of some histories.
#[derive(Debug, Default)]
struct Outcomes {
    histories: u32,
    /// The number of those in which an error was reported.
    told: u32,
    /// The number of those in which entries left a gap, or came after later ones.
    gaps: u32,
    /// The number of those in which a new journal reported that it is new.
    restarts: u32,
}

impl Outcomes {
    /// Nothing is lost in silence: `Ledger` checks that no number is given again, and that what arrives was given.
    fn count<const W: usize>(&mut self, end: End<W>, may_restart: bool) {
        let mut ledger = end.ledger;
        let journal = end.journal.expect("a journal, when the reads are right");
        let dropped = ledger.recovers(journal);
        assert_eq!(dropped, 0);
        assert!(may_restart || ledger.restarts == 0, "{:?}", ledger.told);
        let is_error = |it: &&JournalError<Failed>| **it != JournalError::Full;
        self.histories += 1;
        self.told += u32::from(ledger.told.iter().any(|it| is_error(&it)));
        self.gaps += u32::from(ledger.missing_in_all() + ledger.late > 0);
        self.restarts += u32::from(ledger.restarts > 0);
    }
}

/// The same wrong answer each time, and different ones.
fn answers() -> impl Iterator<Item = (Fault, bool)> {
    let same = Fault::READ_WRONG.map(|fault| (fault, true));
    let different = [Fault::ReadsBit, Fault::ReadsNoise].map(|fault| (fault, false));
    same.into_iter().chain(different)
}

/// From each operation on, those places are read wrong so many times.
fn each<const W: usize>(
    pages: usize,
    config: JournalConfig,
    places: &[Range<usize>],
    (in_a_row, stride): (&[u64], usize),
) -> Outcomes {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let mut case = Case::new(pages, config, seed);
    let operations = case.run(|end: End<W>| end.operations.len()) as u64;
    let mut ended = Outcomes::default();
    let mut number = seed as usize;
    for first in 0..operations {
        for place in places {
            for &times in in_a_row {
                for (fault, is_same) in answers() {
                    number = number.wrapping_add(1);
                    // What four of these in a row do has its own test.
                    let may_hide = place.is_empty() || place.start % PAGE >= 32 && place.len() > W;
                    let hides = may_hide && times > 3 && fault == Fault::ReadsErased;
                    if hides || !number.is_multiple_of(stride) {
                        continue;
                    }
                    case.reopens(first % 2 == 0);
                    case.plan = Plan {
                        operations: first..u64::MAX,
                        place: place.clone(),
                        times,
                        faults: vec![fault],
                        is_same,
                    };
                    let may_restart = case.formats();
                    case.run(|end: End<W>| ended.count(end, may_restart));
                }
            }
        }
    }
    println!("{config:?}, {pages} pages, writes of {W}, {in_a_row:?} times: {ended:?}");
    ended
}

#[test]
fn reads_that_are_wrong_some_times_in_a_row_lose_nothing_in_silence() {
    for config in [CONFIG, CONFIG.when_corrupt(WhenCorrupt::Format)] {
        let times = [2, 3, 4, 6, 8];
        each::<4>(2, config, &[ANYWHERE], (&times, stride()));
        each::<8>(3, config, &[ANYWHERE], (&times, stride()));
    }
}

/// Each grain, what an entry takes from there in the same page, and each head.
fn places(pages: usize, grain: usize) -> Vec<Range<usize>> {
    let starts = (0..pages * PAGE).step_by(grain);
    let grains = starts.clone().map(|at| at..at + grain);
    let entries = starts
        .filter(|at| at % PAGE >= 32)
        .map(|at| at..(at + 32).min(at - at % PAGE + PAGE));
    let heads = (0..pages).map(|page| page * PAGE..page * PAGE + 32);
    grains.chain(entries).chain(heads).collect()
}

#[test]
fn a_place_that_is_read_wrong_loses_nothing_in_silence() {
    for config in [CONFIG, CONFIG.when_corrupt(WhenCorrupt::Format)] {
        let times = [2, 3, u64::MAX];
        let stride = if stride() == 1 { 1 } else { 97 };
        each::<4>(2, config, &places(2, 4), (&times, stride));
        each::<8>(3, config, &places(3, 8), (&times, stride));
    }
}

/// A journal of three pages with two entries in the first.
fn with_two_entries() -> Ledger<4> {
    let mut ledger = Ledger::new(Ill::holding(vec![0xFF; 3 * PAGE], 0), CONFIG);
    let mut journal = ledger.start(1).expect("erased");
    for number in 0..2 {
        assert_eq!(ledger.keep(&mut journal), Ok(number));
    }
    ledger
}

/// Those bytes read as erased so many times.
fn wrong(place: Range<usize>, times: u64) -> Plan {
    Plan {
        operations: 0..u64::MAX,
        place,
        times,
        faults: vec![Fault::ReadsErased],
        is_same: true,
    }
}

/// The power fails when a page has a head and no entry. Then the head is not found, and the page before goes on.
#[test]
fn what_is_kept_while_the_head_of_an_empty_page_is_read_wrong_is_sent() {
    let flash = Ill::<4>::holding(vec![0xFF; 4 * PAGE], 0);
    let open = || run(Open::open(flash.clone(), flash.range(), CONFIG)).expect("a journal");
    let mut journal = open();
    for number in 0..2 {
        assert_eq!(run(journal.keep(&[1; 20])), Ok(number));
    }
    flash.power.borrow_mut().cut_after(PAGE as u64 + 32);
    assert!(run(journal.keep(&[2; 20])).is_err());
    flash.power.borrow_mut().up();
    flash.set(wrong(PAGE..PAGE + 32, 2));
    let mut journal = open();
    assert_eq!(flash.hits.get(), 2);
    assert_eq!(run(journal.keep(b"four")), Ok(2));
    for waiting in 3..7 {
        let mut journal = open();
        assert_eq!(
            (journal.waiting(), journal.next_number()),
            (waiting, waiting)
        );
        assert_eq!(run(journal.keep(b"four")), Ok(waiting));
    }
}

/// More numbers than the empty page could hold: so it is left as it is.
#[test]
fn what_is_kept_after_the_head_of_an_empty_page_is_read_again_is_sent() {
    const LEN: usize = 1024;
    let chip = Chip::<1, 32, LEN>::new(4, 0);
    let open =
        || run(Journal::<_, 900>::open(chip.clone(), chip.range(), CONFIG)).expect("a journal");
    let mut journal = open();
    assert_eq!(run(journal.keep(&[])), Ok(0));
    chip.cut_after(LEN as u64 + 32);
    assert!(run(journal.keep(&[0; 900])).is_err());
    chip.power_up();
    chip.change(|bytes| bytes[LEN] ^= 1);
    // As of entries that were cut off.
    let spoil = |bytes: &mut [u8]| (3..27).for_each(|grain| bytes[grain * 32] = 0);
    chip.change(spoil);
    assert_eq!(run(open().keep(&[])), Ok(25));
    chip.change(|bytes| bytes[LEN] ^= 1);
    assert!(run(open().keep(&[])).is_ok_and(|number| number > 25));
    assert_eq!(open().waiting(), 3);
}

/// The next page would take the room of the one in which they wait.
#[test]
fn entries_that_cannot_be_read_for_now_make_no_room_for_new_ones() {
    let flash = Ill::<4>::holding(vec![0xFF; 2 * PAGE], 0);
    let mut journal = run(Open::open(flash.clone(), flash.range(), CONFIG)).expect("erased");
    for number in 0..2 {
        assert_eq!(run(journal.keep(&[1; 20])), Ok(number));
    }
    flash.set(wrong(32..PAGE, u64::MAX));
    assert_eq!(run(journal.keep(&[1; 20])), Err(JournalError::Full));
    flash.heal();
    assert_eq!(run(journal.remove_through(u32::MAX)), Ok(2));
    assert_eq!(run(journal.keep(&[1; 20])), Ok(2));
}

/// A read that is wrong while an entry is kept leaves a grain out: it seems to be written. What follows it is found all the
/// same.
#[test]
fn a_read_that_is_wrong_once_hides_nothing_behind_a_grain_that_was_left_out() {
    let with_a_hole = |operation| {
        let mut ledger = with_two_entries();
        let mut journal = ledger.start(1).expect("a journal");
        ledger.flash.plan(operation, 1, &[Fault::ReadsZeros]);
        assert_eq!(ledger.keep(&mut journal), Ok(2));
        let bytes = ledger.flash.bytes();
        (bytes[80..84] == [0xFF; 4]).then_some(bytes)
    };
    let bytes = (0..6)
        .find_map(with_a_hole)
        .expect("room is read before it is used");
    for operation in 0.. {
        for fault in Fault::READ_WRONG {
            let flash = Ill::<4>::holding(bytes.clone(), 0);
            flash.plan(operation, 1, &[fault]);
            let journal = run(Open::open(flash.clone(), flash.range(), CONFIG));
            let journal = journal.expect("a journal");
            let found = (journal.waiting(), journal.next_number());
            assert_eq!(found, (3, 3), "operation {operation}, {fault:?}");
            if flash.hits.get() == 0 {
                return;
            }
        }
    }
}

/// Only one reading of a header is believed; what it skips still is an entry, whose number is used.
#[test]
fn entries_that_are_read_wrong_in_two_ways_keep_their_numbers() {
    let bytes = with_two_entries().flash.bytes();
    for seed in 0..1_000 {
        let flash = Ill::<4>::holding(bytes.clone(), seed);
        flash.set(Plan {
            faults: vec![Fault::ReadsBit],
            is_same: false,
            ..wrong(32..80, u64::MAX)
        });
        let journal = run(Open::open(flash.clone(), flash.range(), CONFIG)).expect("a journal");
        assert!(journal.next_number() >= 2, "seed {seed}");
    }
}

#[test]
fn free_room_that_is_read_otherwise_each_time_does_not_hold_up_a_start() {
    let bytes = with_two_entries().flash.bytes();
    for seed in 0..200 {
        let flash = Ill::<4>::holding(bytes.clone(), seed);
        flash.set(Plan {
            faults: vec![Fault::ReadsBit],
            is_same: false,
            ..wrong(80..PAGE, u64::MAX)
        });
        run(Open::open(flash.clone(), flash.range(), CONFIG)).expect("a journal");
        let reads = flash.operations.borrow().len();
        // Three readings of each place at most: 73 with a fourth one, more if it were read until two agree.
        assert!(reads <= 68, "{reads} reads with seed {seed}");
    }
}

/// By four wrong reads of the whole entry; three do no harm.
#[test]
fn the_number_of_an_entry_that_reads_as_erased_is_given_again() {
    // The second entry.
    let place = 52..80;
    for (times, next) in [2, 2, 2, 2, 1].into_iter().enumerate() {
        let mut ledger = with_two_entries();
        ledger.flash.set(wrong(place.clone(), times as u64));
        let mut journal = ledger.start(1).expect("a journal");
        assert_eq!(journal.next_number(), next, "{times} times");
        if times == 4 {
            // It is written behind the old one, and a receiver takes it for that.
            assert_eq!(run(journal.keep(b"new")), Ok(1));
            let mut journal = ledger.start(1).expect("a journal");
            assert_eq!((journal.waiting(), journal.next_number()), (3, 2));
            assert_eq!(ledger.send(&mut journal, 2), Ok(2));
            assert_eq!(ledger.missing(), 0, "the old one is sent");
        }
    }
    // For good: the entry is overwritten.
    let mut ledger = with_two_entries();
    ledger.flash.set(wrong(place, u64::MAX));
    let mut journal = ledger.start(1).expect("a journal");
    assert_eq!(ledger.keep(&mut journal), Err(JournalError::Worn));
    ledger.flash.heal();
    let journal = ledger.start(1).expect("a journal");
    assert_eq!(journal.waiting(), 1);
    assert!(journal.next_number() > 1, "a gap tells");
}

#[test]
fn flash_that_reads_as_erased_throughout_an_opening_is_formatted_and_says_so() {
    // Three heads twice, and the page that is written.
    for times in 0..=8 {
        let mut ledger = with_two_entries();
        ledger.flash.plan(0, times, &[Fault::ReadsErased]);
        let opened = ledger.start(1).map(|it| (it.is_new(), it.waiting()));
        // What looks damaged is looked at once more.
        let expected = if times == 8 { (true, 0) } else { (false, 2) };
        assert_eq!(opened, Some(expected), "{times} times");
    }
}

#[test]
fn a_page_that_reads_as_erased_throughout_an_opening_is_the_old_time() {
    let mut ledger = with_two_entries();
    let mut journal = ledger.start(1).expect("a journal");
    let mut first = 0;
    while ledger.flash.bytes()[PAGE] == 0xFF {
        first = ledger.keep(&mut journal).expect("room");
    }
    ledger.flash.set(wrong(PAGE..2 * PAGE, u64::MAX));
    let journal = ledger.start(1).expect("nothing tells");
    assert_eq!((journal.is_new(), journal.next_number()), (false, first));
}
