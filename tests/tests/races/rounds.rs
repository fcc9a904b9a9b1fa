// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races after a lost round, with one probe at a time, whose slot is taken, given back or lost again.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::Cause::{
    Manual, OpenTimeOver, ProbeCancelled, ProbeLost, ProbesSucceeded as Succeeded,
};
use atomic_breaker::word::Word;
use atomic_breaker::{Config, Permit, State, Token};
use loom::sync::Arc;
use loom::thread;

use super::memory::{Blind, LoomWord};
use super::{Modelled, breaker_of, history, model};

const SECOND: Duration = Duration::from_secs(1);
const LOST: [atomic_breaker::Cause; 3] = [Manual, OpenTimeOver, ProbeLost];

fn config() -> Config {
    Config::new()
        .open_for(SECOND)
        .probe_lease(SECOND)
        .cancel_limit(60 * SECOND)
}

fn enter<W: Word>(breaker: &Modelled<(), W>) -> bool {
    breaker.acquire().map(Permit::into_token).is_ok()
}

/// A breaker, its lost probe, and the probe that came after it.
type Lost<W> = (
    Arc<Modelled<(), W>>,
    Token<<W as Word>::Bits>,
    Token<<W as Word>::Bits>,
);

/// A breaker after one lost round, its lost probe, and the probe of the second round.
fn after_a_lost_round<W: Word>(word: W, config: Config) -> Lost<W> {
    let breaker = breaker_of(word, config, ());
    breaker.trip();
    breaker.clock().advance(SECOND);
    let first = breaker.acquire().unwrap().into_token();
    breaker.clock().advance(SECOND);
    let second = breaker.acquire().unwrap().into_token();
    (breaker, first, second)
}

fn history_after(more: &[atomic_breaker::Cause]) -> Vec<atomic_breaker::Cause> {
    [&LOST, more].concat()
}

#[test]
fn a_success_closes_whether_the_next_round_is_lost_or_not() {
    let ends = model("second lost round against its success", || {
        let (breaker, _, probe) = after_a_lost_round(LoomWord::new(), config());
        breaker.clock().advance(2 * SECOND);
        let other = breaker.clone();
        let late = thread::spawn(move || other.resume(probe).success().is_some());
        assert!(enter(&breaker), "as the new probe, or as it is closed");
        let closed = late.join().unwrap();
        let snapshot = breaker.snapshot();
        (
            history(&breaker),
            closed,
            snapshot.lost_rounds(),
            snapshot.probes_in_flight(),
        )
    });
    assert_eq!(
        ends,
        HashSet::from([
            (history_after(&[Succeeded]), true, 0, 0),
            (history_after(&[ProbeLost, Succeeded]), true, 0, 0),
        ])
    );
}

#[test]
fn the_next_lost_round_and_a_late_drop_exclude_each_other() {
    let ends = model("second lost round against a late drop", || {
        let config = config().cancel_limit(SECOND);
        let (breaker, _, probe) = after_a_lost_round(LoomWord::new(), config);
        breaker.clock().advance(2 * SECOND);
        let other = breaker.clone();
        let late = thread::spawn(move || drop(other.resume(probe)));
        let is_admitted = enter(&breaker);
        late.join().unwrap();
        (
            history(&breaker),
            is_admitted,
            breaker.snapshot().probes_in_flight(),
        )
    });
    assert_eq!(
        ends,
        HashSet::from([
            (history_after(&[ProbeCancelled]), false, 0),
            (history_after(&[ProbeLost]), true, 1),
        ])
    );
}

/// Two callers race for a slot that was given back. Returns which of them got in, and how many are counted.
fn two_callers_for_the_slot<W: Word + Send + Sync + 'static>(word: W) -> (bool, bool, u8) {
    let (breaker, _, probe) = after_a_lost_round(word, config());
    breaker.resume(probe).cancel();
    let other = breaker.clone();
    let there = thread::spawn(move || enter(&other));
    let here = enter(&breaker);
    let there = there.join().unwrap();
    assert_eq!(history(&breaker), LOST);
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.lost_rounds(), 1);
    (here, there, snapshot.probes_in_flight())
}

#[test]
fn a_slot_given_back_after_a_lost_round_is_taken_once() {
    let ends = model("two callers for the slot after a lost round", || {
        two_callers_for_the_slot(LoomWord::new())
    });
    assert_eq!(ends, HashSet::from([(true, false, 1), (false, true, 1)]));
}

#[test]
fn an_exchange_that_compares_the_state_alone_would_give_the_slot_twice() {
    let ends = model("control", || {
        two_callers_for_the_slot(Blind::to_all_but_the_state())
    });
    assert!(ends.contains(&(true, true, 1)), "{ends:?}");
}

/// The probe of the round before is late: it must not free the slot of this one, and its success counts once.
fn a_late_report_against_a_young_drop<W: Word + Send + Sync + 'static>(word: W) -> (u8, State) {
    let (breaker, first, second) = after_a_lost_round(word, config().close_after(2));
    let other = breaker.clone();
    let late = thread::spawn(move || other.resume(first).success());
    breaker.resume(second).cancel();
    let third = breaker.acquire().unwrap().into_token();
    late.join().unwrap();
    let snapshot = breaker.snapshot();
    drop(third);
    (
        snapshot.probes_in_flight() + 16 * snapshot.successes(),
        snapshot.entered(),
    )
}

#[test]
fn a_success_of_the_round_before_counts_and_frees_no_slot() {
    let ends = model("report of a lost round against drop and admission", || {
        a_late_report_against_a_young_drop(LoomWord::new())
    });
    assert_eq!(ends, HashSet::from([(1 + 16, State::HalfOpen)]));
}

#[test]
fn a_drop_and_an_admission_are_both_counted() {
    let ends = model("drop against admission after a lost round", || {
        let (breaker, _, probe) = after_a_lost_round(LoomWord::new(), config());
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(probe).cancel().is_some());
        let is_admitted = enter(&breaker);
        assert!(!there.join().unwrap());
        (is_admitted, breaker.snapshot().probes_in_flight())
    });
    assert_eq!(ends, HashSet::from([(true, 1), (false, 0)]));
}
