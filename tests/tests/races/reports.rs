// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races of reports and commands for the word.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::Cause::{CorruptWord, FailureLimit, Manual, OpenTimeOver, ProbesSucceeded};
use atomic_breaker::{Config, Permit, State};
use loom::thread;

use super::memory::LoomWord;
use super::{bounded, breaker, breaker_of, history, model};

fn config(failures: u32) -> Config {
    Config::new()
        .consecutive_failures(failures)
        .open_for(Duration::from_secs(1))
}

#[test]
fn two_failures_that_both_reach_the_limit_trip_once() {
    let histories = model("trip against trip", || {
        let breaker = breaker(config(1));
        let first = breaker.acquire().unwrap();
        let second = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).failure());
        first.failure();
        there.join().unwrap();
        assert_eq!(breaker.snapshot().trips(), 1);
        history(&breaker)
    });
    assert_eq!(histories, HashSet::from([vec![FailureLimit]]));
}

#[test]
fn a_failure_and_an_operator_trip_once() {
    let histories = model("trip against an operator's trip", || {
        let breaker = breaker(config(1));
        let permit = breaker.acquire().unwrap().into_token();
        let other = breaker.clone();
        let there = thread::spawn(move || other.trip());
        breaker.resume(permit).failure();
        there.join().unwrap();
        assert_eq!(breaker.snapshot().trips(), 1);
        history(&breaker)
    });
    // The failure is late, or the operator finds the breaker already open for as long as the command asks.
    assert_eq!(histories, HashSet::from([vec![Manual], vec![FailureLimit]]));
}

#[test]
fn three_failures_are_all_counted() {
    bounded("three failures", Some(3), || {
        let breaker = breaker(config(9));
        let others = [breaker.clone(), breaker.clone()]
            .map(|breaker| thread::spawn(move || breaker.acquire().unwrap().failure()));
        breaker.acquire().unwrap().failure();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(breaker.snapshot().failures(), 3);
        assert_eq!(history(&breaker), []);
    });
}

#[test]
fn a_success_clears_the_failures_before_it_and_none_after() {
    let failures = model("failure against success", || {
        let breaker = breaker(config(9));
        breaker.acquire().unwrap().failure();

        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().unwrap().failure());
        breaker.acquire().unwrap().success();
        there.join().unwrap();
        breaker.snapshot().failures()
    });
    assert_eq!(failures, HashSet::from([0, 1]));
}

#[test]
fn a_success_just_before_the_last_failure_keeps_it_closed() {
    let ends = model("last failure against success", || {
        let breaker = breaker(config(2));
        breaker.acquire().unwrap().failure();
        let failing = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(failing).failure());
        let _ = breaker.acquire().map(Permit::success);
        there.join().unwrap();
        (history(&breaker), breaker.snapshot().failures())
    });
    assert_eq!(ends, HashSet::from([(vec![], 1), (vec![FailureLimit], 0)]));
}

#[test]
fn a_reset_and_a_trip_happen_one_after_the_other() {
    let histories = model("reset against trip", || {
        let breaker = breaker(config(1));
        let permit = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.reset());
        breaker.resume(permit).failure();
        there.join().unwrap();
        assert_eq!(breaker.state(), State::Closed);
        history(&breaker)
    });
    // The failure is of an earlier epoch, or its trip is undone.
    assert_eq!(
        histories,
        HashSet::from([vec![Manual], vec![FailureLimit, Manual]])
    );
}

#[test]
fn force_open_stands_against_the_success_of_a_probe() {
    let histories = model("force open against a closing success", || {
        let breaker = breaker(config(1));
        breaker.trip();
        breaker.clock().advance(Duration::from_secs(1));
        let probe = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.force_open());
        breaker.resume(probe).success();
        there.join().unwrap();
        assert_eq!(breaker.state(), State::ForcedOpen);
        history(&breaker)
    });
    assert_eq!(
        histories,
        HashSet::from([
            vec![Manual, OpenTimeOver, Manual],
            vec![Manual, OpenTimeOver, ProbesSucceeded, Manual],
        ])
    );
}

#[test]
fn a_caller_passes_only_after_the_release() {
    let passed = model("release against acquire", || {
        let breaker = breaker(config(1));
        breaker.force_open();
        let other = breaker.clone();
        let there = thread::spawn(move || other.release());
        let passed = breaker.acquire().map(Permit::into_token).is_ok();
        there.join().unwrap();
        assert_eq!(history(&breaker), [Manual, Manual]);
        assert_eq!(breaker.snapshot().probes_in_flight(), u8::from(passed));
        passed
    });
    assert_eq!(passed, HashSet::from([false, true]));
}

#[test]
fn two_operators_disable_once() {
    let histories = model("disable against disable", || {
        let breaker = breaker(config(1));
        let other = breaker.clone();
        let there = thread::spawn(move || other.disable());
        breaker.disable();
        there.join().unwrap();
        history(&breaker)
    });
    assert_eq!(histories, HashSet::from([vec![Manual]]));
}

#[test]
fn a_corrupt_word_met_by_two_callers_is_healed_once() {
    let histories = model("corrupt word", || {
        // Open, yet never tripped.
        let breaker = breaker_of(LoomWord::of(1), config(1), ());
        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().is_ok());
        assert!(breaker.acquire().is_ok());
        assert!(there.join().unwrap());
        history(&breaker)
    });
    assert_eq!(histories, HashSet::from([vec![CorruptWord]]));
}
