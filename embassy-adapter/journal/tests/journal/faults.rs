// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each read, write and erase of a history fails or lies in each way, once or some times in a row: what was acknowledged
//! is sent, or an error or a gap in the numbers tells.

use flash_journal::{Corruption, JournalConfig, JournalError, WhenCorrupt, WhenFull};

use super::cuts::rounds;
use super::ill::{Failed, Ill, PAGE};
use super::ledger::{Ledger, Open};
use super::plan::{Done, Fault, Plan};
use super::random::{Random, seed};

const CONFIG: JournalConfig = JournalConfig::new();

fn erased<const W: usize>(pages: usize, config: JournalConfig, seed: u64) -> Ledger<W> {
    Ledger::new(Ill::holding(vec![0xFF; pages * PAGE], seed), config)
}

/// One step of every history: the same for the same number. `None` when the journal has to be opened again.
pub(crate) fn step<const W: usize>(
    ledger: &mut Ledger<W>,
    mut journal: Open<W>,
    step: u64,
    restarts_after_errors: bool,
) -> Option<Open<W>> {
    let before = ledger.told.len();
    // The errors are in the ledger.
    match step % 10 {
        2 | 6 => _ = ledger.send(&mut journal, 3),
        4 => _ = ledger.send_or_keep(&mut journal, true),
        8 => _ = ledger.send_or_keep(&mut journal, false),
        9 => return None,
        _ => _ = ledger.keep(&mut journal),
    }
    let errors = &ledger.told[before..];
    let is_full = errors.iter().all(|it| *it == JournalError::Full);
    (is_full || !restarts_after_errors).then_some(journal)
}

/// So many steps, in which the flash is ill as planned; then it is well, and everything must work.
fn history<const W: usize>(ledger: &mut Ledger<W>, steps: u64, restarts_after_errors: bool) {
    let mut journal = None;
    for number in 0..steps {
        if ledger.flash.is_spared() {
            return;
        }
        let Some(open) = journal.take().or_else(|| ledger.start(1)) else {
            continue;
        };
        journal = step(ledger, open, number, restarts_after_errors);
    }
    ledger.flash.heal();
    println!("{:?}", ledger.told);
    let journal = match journal {
        Some(journal) if !restarts_after_errors => Some(journal),
        _ => ledger.start(1),
    };
    if journal.is_none() && ledger.highest().is_none() {
        // Formatting went wrong, and nothing was kept yet: the range is not erased any more.
        let garbage = JournalError::Corrupt(Corruption::Garbage);
        assert_eq!(ledger.told.last(), Some(&garbage));
        return;
    }
    ledger.recovers(journal.expect("a journal, when the fault is over"));
}

/// The number of operations, when nothing goes wrong.
fn operations<const W: usize>(pages: usize, config: JournalConfig) -> u64 {
    let mut ledger = erased::<W>(pages, config, 0);
    history(&mut ledger, STEPS, false);
    assert_eq!((ledger.missing(), ledger.late), (0, 0));
    ledger.flash.operations.borrow().len() as u64
}

const STEPS: u64 = 50;

/// Every operation in the long form, with `JOURNAL_ROUNDS`; otherwise some of them, others in each run.
pub(crate) fn stride() -> u64 {
    if rounds() > 1_000 { 1 } else { 3 }
}

/// Each operation with each fault, once and three times in a row; returns how often something went wrong.
fn each<const W: usize>(
    pages: usize,
    config: JournalConfig,
    (faults, in_a_row): (&[Fault], &[u64]),
    check: impl Fn(&Ledger<W>),
) -> u32 {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let (stride, mut hits) = (stride(), 0);
    let operations = operations::<W>(pages, config);
    for operation in (seed % stride..operations).step_by(stride as usize) {
        for fault in faults {
            for &times in in_a_row {
                println!("operation {operation}: {fault:?}, {times} times");
                let mut ledger = erased::<W>(pages, config, operation);
                ledger.flash.plan(operation, times, &[*fault]);
                history(&mut ledger, STEPS, operation % 2 == 0);
                if ledger.flash.hits.get() > 0 {
                    hits += 1;
                    check(&ledger);
                }
            }
        }
    }
    println!("{pages} pages, writes of {W}: {hits} faults");
    hits
}

fn nothing_is_missing<const W: usize>(ledger: &Ledger<W>) {
    let counts = (ledger.missing_in_all(), ledger.late, ledger.restarts);
    assert_eq!(counts, (0, 0, 0), "{:?}", ledger.told);
}

#[test]
fn an_error_of_the_driver_loses_nothing() {
    for config in [CONFIG, CONFIG.when_corrupt(WhenCorrupt::Format)] {
        each::<4>(3, config, (&Fault::TOLD, &[1, 3]), |ledger| {
            nothing_is_missing(ledger);
            let others =
                |it: &JournalError<_>| !matches!(it, JournalError::Flash(_) | JournalError::Full);
            assert!(!ledger.told.iter().any(others), "{:?}", ledger.told);
            assert!(!ledger.told.is_empty() || ledger.went_around);
        });
        each::<8>(2, config, (&Fault::TOLD, &[1, 3]), nothing_is_missing);
    }
}

#[test]
fn flash_that_wears_out_in_silence_is_an_error_and_loses_nothing() {
    for config in [CONFIG, CONFIG.when_corrupt(WhenCorrupt::Format)] {
        each::<4>(3, config, (&Fault::WORN, &[1, 3]), nothing_is_missing);
        each::<8>(2, config, (&Fault::WORN, &[1, 3]), nothing_is_missing);
    }
}

#[test]
fn reads_that_are_wrong_leave_a_gap_at_most() {
    each::<4>(3, CONFIG, (&Fault::READ_WRONG, &[1]), |ledger| {
        nothing_is_missing(ledger);
    });
    each::<8>(2, CONFIG, (&Fault::READ_WRONG, &[1]), nothing_is_missing);
    // Nothing is formatted for a read that is wrong once.
    let formatting = CONFIG.when_corrupt(WhenCorrupt::Format);
    each::<4>(
        3,
        formatting,
        (&Fault::READ_WRONG, &[1]),
        nothing_is_missing,
    );
}

#[test]
fn a_new_journal_is_still_new_after_a_write_that_failed() {
    let mut ledger = erased::<4>(3, CONFIG, 0);
    let mut journal = ledger.start(1).expect("erased");
    let failed = Fault::WriteFails(Done::Nothing);
    ledger.flash.set(Plan::once(failed));
    assert_eq!(ledger.keep(&mut journal), Err(JournalError::Flash(Failed)));
    assert_eq!(ledger.keep(&mut journal), Ok(0));
    assert!(journal.is_new());
}

/// Many faults of one class, and stuck bits, until the flash is well again. Returns how many entries the journal says
/// that it has dropped, or `None` if it could not be formatted in the first place.
fn storm<const W: usize>(
    pages: usize,
    seed: u64,
    (faults, in_a_row): (&[Fault], u64),
    sticks: bool,
) -> (Ledger<W>, Option<u32>) {
    println!("JOURNAL_SEED={seed}");
    let mut random = Random::new(seed);
    let mut config = CONFIG;
    if random.one_in(2) {
        config = config.when_full(WhenFull::DropOldest);
    }
    if random.one_in(2) {
        config = config.when_corrupt(WhenCorrupt::Format);
    }
    let mut ledger = erased::<W>(pages, config, seed);
    // Formatting while it is open is seen by an application that opens it again.
    let restarts_after_errors =
        config == config.when_corrupt(WhenCorrupt::Format) || random.one_in(2);
    let mut journal = None;
    for _ in 0..120 {
        if random.one_in(4) {
            let times = 1 + random.below(in_a_row);
            ledger.flash.plan(random.below(40), times, faults);
        }
        if sticks && random.one_in(10) {
            let bit = random.below((pages * PAGE * 8) as u64);
            ledger.flash.stick(bit as usize);
        }
        let Some(open) = journal.take().or_else(|| ledger.start(1)) else {
            continue;
        };
        journal = step(&mut ledger, open, random.below(10), restarts_after_errors);
    }
    ledger.flash.heal();
    let Some(journal) = journal.or_else(|| ledger.start(1)) else {
        assert_eq!(ledger.highest(), None, "{:?}", ledger.told);
        return (ledger, None);
    };
    let dropped = ledger.recovers(journal);
    (ledger, Some(dropped))
}

fn worn_storm<const W: usize>(pages: usize, seed: u64, faults: &[Fault]) {
    let (ledger, dropped) = storm::<W>(pages, seed, (faults, 12), true);
    let missing = ledger.missing_in_all();
    let dropped = dropped.unwrap_or(0);
    assert!(
        missing <= dropped,
        "{missing} are missing, {dropped} were dropped"
    );
    assert!(!ledger.refuses() || dropped == 0, "{dropped} were dropped");
    assert_eq!((ledger.late, ledger.restarts), (0, 0), "{:?}", ledger.told);
}

#[test]
fn what_flash_acknowledges_while_it_wears_out_is_sent() {
    let seed = seed();
    let all: Vec<_> = Fault::TOLD.into_iter().chain(Fault::WORN).collect();
    for round in 0..rounds().div_ceil(3) {
        let seed = seed.wrapping_add(round * 1_000);
        worn_storm::<4>(3, seed, &all);
        worn_storm::<8>(2, seed + 1, &all);
        worn_storm::<1>(5, seed + 2, &Fault::WORN);
    }
}

#[test]
fn reads_that_are_wrong_now_and_then_never_change_what_is_sent() {
    let seed = seed();
    let (mut missing, mut restarts) = (0, 0);
    for round in 0..rounds().div_ceil(3) {
        let seed = seed.wrapping_add(round * 1_000);
        let (ledger, _) = storm::<4>(4, seed, (&Fault::READ_WRONG, 1), false);
        missing += ledger.missing();
        restarts += ledger.restarts;
    }
    println!("{missing} left a gap, {restarts} restarts were told");
}
