// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races of the short paths: one more failure in a row, and the success that clears the count, are each one
//! exchange with the word seen before.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::Cause::{self, FailureLimit, Manual};
use atomic_breaker::word::Word;
use atomic_breaker::{Config, State};
use loom::thread;

use super::memory::{Blind, LoomWord};
use super::{breaker_of, history, model};

fn config(failures: u32) -> Config {
    Config::new()
        .consecutive_failures(failures)
        .open_for(Duration::from_secs(1))
}

/// The failure is counted before, or comes late: an open breaker has no failures either way.
#[test]
fn a_failure_that_is_counted_and_a_trip_happen_one_after_the_other() {
    let ends = model("counted failure against trip", || {
        let breaker = breaker_of(LoomWord::new(), config(9), ());
        let failing = breaker.acquire().unwrap().into_token();
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(failing).failure().is_some());
        assert!(breaker.trip().is_some());
        assert!(!there.join().unwrap());
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.failures(), snapshot.trips()), (0, 1));
        (history(&breaker), snapshot.entered())
    });
    assert_eq!(ends, HashSet::from([(vec![Manual], State::Open)]));
}

/// A reset and a failure of the new epoch happen while a failure of the old epoch is reported.
fn a_failure_from_before_a_reset<W: Word + Send + Sync + 'static>(word: W) -> (Vec<Cause>, u16) {
    let breaker = breaker_of(word, config(9), ());
    let late = breaker.acquire().unwrap().into_token();
    let other = breaker.clone();
    let there = thread::spawn(move || other.resume(late).failure());
    breaker.reset();
    breaker.acquire().unwrap().failure();
    there.join().unwrap();
    (history(&breaker), breaker.snapshot().failures())
}

#[test]
fn a_failure_from_before_a_reset_is_not_counted_after_it() {
    let ends = model("counted failure against reset", || {
        a_failure_from_before_a_reset(LoomWord::new())
    });
    assert_eq!(ends, HashSet::from([(vec![Manual], 1)]));
}

/// The word at the grant holds the epoch and the count: all of it is compared.
#[test]
#[should_panic(expected = "none undone")]
fn an_exchange_that_compares_the_state_alone_would_undo_a_reset() {
    model("control", || {
        a_failure_from_before_a_reset(Blind::to_all_but_the_state())
    });
}

/// A failure was counted; a success is reported late, after a reset and a failure since.
fn a_success_from_before_a_reset<W: Word + Send + Sync + 'static>(word: W) -> (Vec<Cause>, u16) {
    let breaker = breaker_of(word, config(9), ());
    breaker.acquire().unwrap().failure();
    let late = breaker.acquire().unwrap().into_token();
    let other = breaker.clone();
    let there = thread::spawn(move || other.resume(late).success());
    breaker.reset();
    breaker.acquire().unwrap().failure();
    there.join().unwrap();
    (history(&breaker), breaker.snapshot().failures())
}

#[test]
fn a_success_from_before_a_reset_clears_nothing_after_it() {
    let ends = model("clearing success against reset", || {
        a_success_from_before_a_reset(LoomWord::new())
    });
    assert_eq!(ends, HashSet::from([(vec![Manual], 1)]));
}

#[test]
#[should_panic(expected = "none undone")]
fn an_exchange_that_compares_the_state_alone_would_clear_what_came_after() {
    model("control", || {
        a_success_from_before_a_reset(Blind::to_all_but_the_state())
    });
}

/// Whichever comes first is counted by the short path, and the second reaches the limit.
#[test]
fn of_two_failures_up_to_the_limit_one_is_counted_and_the_other_trips() {
    let ends = model("counted failure against the one that trips", || {
        let breaker = breaker_of(LoomWord::new(), config(2), ());
        let [one, other_one] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(one).failure().is_some());
        let here = breaker.resume(other_one).failure().is_some();
        assert!(here != there.join().unwrap(), "one of them trips");
        history(&breaker)
    });
    assert_eq!(ends, HashSet::from([vec![FailureLimit]]));
}

/// The success saw one failure, and another one comes: it clears one, both, or the first only.
#[test]
fn a_success_never_clears_a_failure_that_it_did_not_meet() {
    let ends = model("clearing success against failure and look", || {
        let breaker = breaker_of(LoomWord::new(), config(9), ());
        breaker.acquire().unwrap().failure();
        let [failing, clearing] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        let other = breaker.clone();
        let there = thread::spawn(move || {
            other.resume(failing).failure();
            other.snapshot().failures()
        });
        breaker.resume(clearing).success();
        let seen_there = there.join().unwrap();
        (seen_there, breaker.snapshot().failures())
    });
    assert_eq!(ends, HashSet::from([(1, 1), (2, 0), (0, 0)]));
}

/// The breaker is forced open while a failure is counted: nothing of the failure is left behind.
#[test]
fn a_failure_that_is_counted_leaves_nothing_in_a_held_word() {
    let ends = model("counted failure against force open", || {
        let breaker = breaker_of(LoomWord::new(), config(9), ());
        let failing = breaker.acquire().unwrap().into_token();
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(failing).failure());
        breaker.force_open();
        there.join().unwrap();
        assert_eq!(breaker.check(), Ok(()));
        (history(&breaker), breaker.state())
    });
    assert_eq!(ends, HashSet::from([(vec![Manual], State::ForcedOpen)]));
}

fn lasting() -> Config {
    config(2).lasting(Duration::from_millis(100))
}

/// Two failures of a row that must last reach its limit at once, so neither trips; the next one after the time does.
#[test]
fn two_failures_at_once_have_not_lasted() {
    let ends = model("two failures of a row that lasts", || {
        let breaker = breaker_of(LoomWord::new(), lasting(), ());
        let [one, other_one] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(one).failure().is_some());
        let here = breaker.resume(other_one).failure().is_some();
        assert!(!here && !there.join().unwrap());
        let failures = breaker.snapshot().failures();
        breaker.clock().advance(Duration::from_millis(100));
        assert!(breaker.acquire().unwrap().failure().is_some());
        (history(&breaker), failures)
    });
    assert_eq!(ends, HashSet::from([(vec![FailureLimit], 2)]));
}

/// A success meets the row that has reached its limit, as one more failure comes: the row goes on, or ends and begins anew.
#[test]
fn a_success_ends_a_row_that_lasts_or_comes_too_late() {
    let ends = model("success against a row that lasts", || {
        let breaker = breaker_of(LoomWord::new(), lasting(), ());
        breaker.acquire().unwrap().failure();
        let [failing, clearing] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        breaker.clock().advance(Duration::from_millis(100));
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(failing).failure());
        breaker.resume(clearing).success();
        there.join().unwrap();
        assert_eq!(breaker.check(), Ok(()));
        (history(&breaker), breaker.snapshot().failures())
    });
    let trips = (vec![FailureLimit], 0);
    assert_eq!(ends, HashSet::from([trips, (vec![], 1)]));
}
