//! Races of reports and commands for the word.

use std::time::Duration;

use atomic_breaker::{Breaker, Cause, Config, ManualClock, State};
use loom::thread;

use super::memory::LoomWord;
use super::{Heard, bounded, breaker, model};

fn config(failures: u32) -> Config {
    Config::new()
        .consecutive_failures(failures)
        .open_for(Duration::from_secs(1))
}

#[test]
fn two_failures_that_both_reach_the_limit_trip_once() {
    model("trip against trip", || {
        let (breaker, heard) = breaker(config(1));
        let first = breaker.acquire().unwrap();
        let second = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).failure());
        first.failure();
        there.join().unwrap();

        assert_eq!(heard.causes(), [Cause::FailureLimit]);
        assert_eq!(breaker.snapshot().trips(), 1);
    });
}

#[test]
fn three_failures_are_all_counted() {
    bounded("three failures", Some(3), || {
        let (breaker, heard) = breaker(config(9));
        let others = [breaker.clone(), breaker.clone()]
            .map(|breaker| thread::spawn(move || breaker.acquire().unwrap().failure()));
        breaker.acquire().unwrap().failure();
        others.map(|other| other.join().unwrap());

        assert_eq!(breaker.snapshot().failures(), 3);
        assert_eq!(heard.causes(), []);
    });
}

#[test]
fn a_success_clears_the_failures_before_it_and_none_after() {
    model("failure against success", || {
        let (breaker, _heard) = breaker(config(9));
        breaker.acquire().unwrap().failure();

        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().unwrap().failure());
        breaker.acquire().unwrap().success();
        there.join().unwrap();

        let failures = breaker.snapshot().failures();
        assert!(failures == 0 || failures == 1, "{failures}");
    });
}

#[test]
fn a_reset_and_a_trip_happen_one_after_the_other() {
    model("reset against trip", || {
        let (breaker, heard) = breaker(config(1));
        let permit = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.reset());
        breaker.resume(permit).failure();
        there.join().unwrap();

        // The reset wins: the failure is of an earlier epoch, or its trip is undone.
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(heard.times(Cause::Manual), 1);
        let trips = heard.times(Cause::FailureLimit);
        assert_eq!(usize::from(breaker.snapshot().epoch()), 1 + trips);
    });
}

#[test]
fn force_open_stands_against_the_success_of_a_probe() {
    model("force open against a closing success", || {
        let (breaker, heard) = breaker(config(1));
        breaker.trip();
        breaker.clock().advance(Duration::from_secs(1));
        let probe = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.force_open());
        breaker.resume(probe).success();
        there.join().unwrap();

        assert_eq!(breaker.state(), State::ForcedOpen);
        assert_eq!(heard.times(Cause::Manual), 2);
        let closed = heard.times(Cause::ProbesSucceeded);
        assert_eq!(usize::from(breaker.snapshot().epoch()), 3 + closed);
    });
}

#[test]
fn a_corrupt_word_met_by_two_callers_is_healed_once() {
    model("corrupt word", || {
        let clock = ManualClock::new();
        let heard = Heard::default();
        // Open, yet never tripped.
        let word = LoomWord::of(1);
        let breaker = Breaker::from_parts(word, config(1), clock, (), heard.clone());
        let breaker = loom::sync::Arc::new(breaker);

        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().is_ok());
        assert!(breaker.acquire().is_ok());
        assert!(there.join().unwrap());
        assert_eq!(heard.causes(), [Cause::CorruptWord]);
    });
}
