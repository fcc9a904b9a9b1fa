// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races while traffic returns gradually. The first share is all of the calls, so that no dice matter.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::Cause::{
    self, FailureLimit, Manual, OpenTimeOver, ProbesSucceeded as Succeeded, TrafficReturned,
};
use atomic_breaker::word::Word;
use atomic_breaker::{Config, Permit, Rejected, State};
use loom::sync::Arc;
use loom::thread;

use super::memory::{Blind, LoomWord};
use super::{Modelled, bounded, breaker_of, history, model};

const SECOND: Duration = Duration::from_secs(1);

fn config() -> Config {
    Config::new()
        .consecutive_failures(1)
        .open_for(SECOND)
        .gradual_return(100, 10 * SECOND)
}

fn returning<W: Word>(word: W, config: Config) -> Arc<Modelled<(), W>> {
    let breaker = breaker_of(word, config, ());
    breaker.trip();
    breaker.clock().advance(SECOND);
    breaker.acquire().unwrap().success();
    breaker
}

fn history_after(more: &[Cause]) -> Vec<Cause> {
    [&[Manual, OpenTimeOver, Succeeded], more].concat()
}

#[test]
fn the_success_that_lets_traffic_return_lets_a_caller_pass_after_it() {
    let ends = model("closing success against admission", || {
        let breaker = breaker_of(LoomWord::new(), config(), ());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let probe = breaker.acquire().unwrap().into_token();
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(probe).success());
        let asked = breaker.acquire().map(|permit| permit.is_probe());
        let made = there.join().unwrap().unwrap();
        assert_eq!((made.to, made.trips), (State::Returning, 1));
        assert_eq!(history(&breaker), history_after(&[]));
        asked.map_err(Rejected::state)
    });
    // Rejected before; admitted, and not as a probe, after.
    assert_eq!(ends, HashSet::from([Err(State::HalfOpen), Ok(false)]));
}

#[test]
fn the_second_of_two_successes_lets_traffic_return_once() {
    let ends = model("two successes that let traffic return", || {
        let breaker = breaker_of(LoomWord::new(), config().probes(2), ());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let [one, other_one] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(one).success().is_some());
        let here = breaker.resume(other_one).success().is_some();
        let there = there.join().unwrap();
        assert!(here != there);
        assert_eq!(breaker.snapshot().trips(), 1);
        history(&breaker)
    });
    assert_eq!(ends, HashSet::from([history_after(&[])]));
}

#[test]
fn two_callers_at_the_end_of_the_return_close_once_and_both_pass() {
    let ends = model("two callers at the end of the return", || {
        let breaker = returning(LoomWord::new(), config());
        breaker.clock().advance(10 * SECOND);
        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().map(Permit::success).is_ok());
        assert!(breaker.acquire().map(Permit::success).is_ok());
        assert!(there.join().unwrap());
        assert_eq!(breaker.state(), State::Closed);
        history(&breaker)
    });
    assert_eq!(ends, HashSet::from([history_after(&[TrafficReturned])]));
}

/// A failure of the return trips it, or the return is over and the failure does not count.
fn a_failure_against_the_end<W: Word + Send + Sync + 'static>(
    word: W,
) -> (Vec<Cause>, bool, State) {
    let breaker = returning(word, config());
    let late = breaker.acquire().unwrap().into_token();
    breaker.clock().advance(10 * SECOND);
    let other = breaker.clone();
    let there = thread::spawn(move || other.resume(late).failure());
    let passed = breaker.acquire().map(Permit::into_token).is_ok();
    there.join().unwrap();
    let mut reported = breaker.observer().0.lock().unwrap().clone();
    reported.sort_by_key(|transition| transition.epoch);
    let causes = reported.iter().map(|transition| transition.cause).collect();
    (causes, passed, breaker.state())
}

#[test]
fn a_failure_and_the_end_of_the_return_exclude_each_other() {
    let ends = model("failure against the end of the return", || {
        a_failure_against_the_end(LoomWord::new())
    });
    assert_eq!(
        ends,
        HashSet::from([
            (history_after(&[FailureLimit]), false, State::Open),
            (history_after(&[TrafficReturned]), true, State::Closed),
        ])
    );
}

/// Closed and returning have the same state bits: the trips and the epoch tell them apart.
#[test]
fn an_exchange_that_compares_the_state_alone_would_trip_by_a_failure_of_the_return() {
    let ends = model("control", || {
        a_failure_against_the_end(Blind::to_all_but_the_state())
    });
    let wrong = (
        history_after(&[TrafficReturned, FailureLimit]),
        true,
        State::Open,
    );
    assert!(ends.contains(&wrong), "{ends:?}");
}

#[test]
fn failures_and_successes_of_the_return_are_all_counted() {
    let failures = bounded("failure against success while returning", Some(3), || {
        let breaker = returning(LoomWord::new(), config().consecutive_failures(9));
        breaker.acquire().unwrap().failure();
        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().unwrap().failure());
        breaker.acquire().unwrap().success();
        there.join().unwrap();
        let snapshot = breaker.snapshot();
        assert_eq!(
            (snapshot.entered(), snapshot.trips()),
            (State::Returning, 1)
        );
        snapshot.failures()
    });
    assert_eq!(failures, HashSet::from([0, 1]));
}

#[test]
fn force_open_stands_against_the_end_of_the_return() {
    let ends = model("force open against the end of the return", || {
        let breaker = returning(LoomWord::new(), config());
        breaker.clock().advance(10 * SECOND);
        let other = breaker.clone();
        let there = thread::spawn(move || other.force_open());
        let passed = breaker.acquire().map(Permit::into_token).is_ok();
        there.join().unwrap();
        assert_eq!(breaker.state(), State::ForcedOpen);
        (history(&breaker), passed)
    });
    assert_eq!(
        ends,
        HashSet::from([
            (history_after(&[Manual]), false),
            (history_after(&[TrafficReturned, Manual]), true),
        ])
    );
}
