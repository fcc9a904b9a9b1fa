// SPDX-License-Identifier: MIT OR Apache-2.0
//! The power fails on flash that is ill: before, during or after the operation that goes wrong, also while the journal is
//! opened. What was acknowledged is sent, as if only one of the two had happened.

use flash_journal::{Corruption, JournalConfig, JournalError, WhenCorrupt, WhenFull};

use super::case::{Case, End};
use super::cuts::rounds;
use super::ill::{Ill, PAGE};
use super::ledger::Ledger;
use super::plan::Fault;
use super::random::{Random, seed};

const CONFIG: JournalConfig = JournalConfig::new();

/// Everything works, and what was acknowledged arrives, unless the journal says that it was dropped.
fn loses_nothing<const W: usize>(end: End<W>) {
    let mut ledger = end.ledger;
    let Some(journal) = end.journal else {
        // Formatting went wrong, and nothing was kept yet: the range is not erased any more.
        let garbage = JournalError::Corrupt(Corruption::Garbage);
        let told = (ledger.highest(), ledger.told.last());
        assert_eq!(told, (None, Some(&garbage)));
        return;
    };
    let dropped = ledger.recovers(journal);
    let missing = ledger.missing_in_all();
    assert!(
        missing <= dropped,
        "{missing} are missing, {dropped} were dropped: {:?}",
        ledger.told
    );
    assert!(!ledger.refuses() || dropped == 0, "{dropped} were dropped");
    assert_eq!((ledger.late, ledger.restarts), (0, 0), "{:?}", ledger.told);
}

#[test]
fn an_entry_kept_after_a_torn_one_is_sent_though_that_was_read_wrong() {
    for fault in Fault::READ_WRONG {
        for operation in 0..30 {
            let flash = Ill::holding(vec![0xFF; 3 * PAGE], 0);
            let mut ledger = Ledger::<4>::new(flash, CONFIG);
            let mut journal = ledger.start(1).expect("erased");
            ledger.keep(&mut journal).expect("room");
            // One read, the header, and half of the data.
            ledger.flash.power.borrow_mut().cut_after(1 + 12 + 6);
            assert!(ledger.keep(&mut journal).is_err());
            ledger.flash.power.borrow_mut().up();
            ledger.flash.plan(operation, 1, &[fault]);
            let mut journal = ledger.start(1).expect("read twice");
            ledger.keep(&mut journal).expect("room");
            ledger.flash.heal();
            let journal = ledger.start(1).expect("healthy flash");
            ledger.recovers(journal);
            assert_eq!(ledger.missing(), 0, "operation {operation}: {fault:?}");
        }
    }
}

/// Every cut with every operation in the long form; otherwise some of them, others in each run.
pub(crate) fn stride() -> usize {
    if rounds() > 1_000 { 1 } else { 19 }
}

fn each_cut_with_each_fault<const W: usize>(pages: usize, config: JournalConfig) {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let (stride, mut runs) = (stride(), 0);
    let mut case = Case::new(pages, config, seed);
    let whole = case.run(|end: End<W>| end.moments);
    for cut in (seed % stride as u64..whole).step_by(stride) {
        case.cuts = vec![cut];
        case.reopens(cut % 2 == 0);
        let operations = case.run(|end: End<W>| end.operations);
        let some = operations.iter().enumerate();
        for (at, operation) in some.skip(cut as usize / stride % stride).step_by(stride) {
            runs += case.with_faults::<W>(at as u64, *operation, loses_nothing);
        }
    }
    println!("{config:?}, {pages} pages, writes of {W}, {whole} moments: {runs} histories");
}

#[test]
fn a_power_cut_and_a_fault_together_lose_nothing() {
    each_cut_with_each_fault::<4>(2, CONFIG);
    each_cut_with_each_fault::<8>(3, CONFIG);
    each_cut_with_each_fault::<4>(2, CONFIG.when_full(WhenFull::DropOldest));
    each_cut_with_each_fault::<4>(2, CONFIG.when_corrupt(WhenCorrupt::Format));
}

/// The second cut is in the opening after the first one, or soon after that.
fn two_cuts_with_a_fault<const W: usize>(pages: usize, config: JournalConfig) {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let (stride, mut runs) = (stride(), 0);
    let mut random = Random::new(seed);
    let mut case = Case::new(pages, config, seed);
    let whole = case.run(|end: End<W>| end.moments);
    for first in (seed % stride as u64..whole).step_by(stride) {
        // In the short form fewer, as there are many pairs.
        for second in (first as usize / stride % stride..3 * PAGE).step_by(2 * stride) {
            case.cuts = vec![first, second as u64];
            case.reopens(random.one_in(2));
            let operations = case.run(|end: End<W>| end.operations);
            let at = random.below(operations.len() as u64);
            runs += case.with_faults::<W>(at, operations[at as usize], loses_nothing);
        }
    }
    println!("{config:?}, {pages} pages, writes of {W}, {whole} moments: {runs} histories");
}

#[test]
fn two_power_cuts_and_a_fault_together_lose_nothing() {
    two_cuts_with_a_fault::<4>(2, CONFIG);
    two_cuts_with_a_fault::<8>(3, CONFIG.when_full(WhenFull::DropOldest));
    two_cuts_with_a_fault::<4>(2, CONFIG.when_corrupt(WhenCorrupt::Format));
}
