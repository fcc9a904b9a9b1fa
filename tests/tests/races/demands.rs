// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races for the deadline, with a demand that arrives when the breaker has just opened.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::Cause::{Manual, OpenTimeOver, RetryAfter};
use atomic_breaker::{Config, Failure, Permit, State, Token};
use loom::sync::Arc;
use loom::thread;

use super::{Modelled, breaker, history, model};

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(200);

/// A breaker that was opened by a demand of a second, and another permit of the epoch before.
fn just_opened() -> (Arc<Modelled>, Token<u64>) {
    let breaker = breaker(Config::new().open_for(SECOND));
    let late = breaker.acquire().unwrap().into_token();
    let first = breaker.acquire().unwrap();
    first.report(Failure::tripping_for(SECOND));
    (breaker, late)
}

fn demand(breaker: &Modelled, token: Token<u64>, time: Duration) {
    let answer = breaker.resume(token).report(Failure::tripping_for(time));
    assert_eq!(answer, None, "no transition");
}

/// At the deadline, either the demand moves it and no call passes, or a call passes and the demand is too late.
#[test]
fn a_late_demand_and_the_admission_of_a_probe_exclude_each_other() {
    let ends = model("late demand against probe", || {
        let (breaker, late) = just_opened();
        breaker.clock().advance(SECOND);
        let other = breaker.clone();
        let there = thread::spawn(move || demand(&other, late, LONG));
        let is_admitted = breaker.acquire().map(Permit::into_token).is_ok();
        there.join().unwrap();
        let snapshot = breaker.snapshot();
        let left = match snapshot.entered() {
            State::Open => snapshot.retry_in(),
            _ => None,
        };
        (history(&breaker), is_admitted, left)
    });
    assert_eq!(
        ends,
        HashSet::from([
            (vec![RetryAfter], false, Some(LONG)),
            (vec![RetryAfter, OpenTimeOver], true, None),
        ])
    );
}

#[test]
fn of_two_late_demands_the_later_deadline_stands() {
    let ends = model("late demand against late demand", || {
        let breaker = breaker(Config::new().open_for(SECOND));
        let [one, other_one] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        let first = breaker.acquire().unwrap();
        first.report(Failure::tripping_for(SECOND));
        let other = breaker.clone();
        let there = thread::spawn(move || demand(&other, one, LONG));
        demand(&breaker, other_one, 2 * SECOND);
        there.join().unwrap();
        (history(&breaker), breaker.snapshot().retry_in())
    });
    assert_eq!(ends, HashSet::from([(vec![RetryAfter], Some(LONG))]));
}

/// Two responses ask for a pause at once: one of them trips, and the longer pause stands.
#[test]
fn of_two_demands_one_trips_and_the_later_deadline_stands() {
    let ends = model("demand against demand", || {
        let breaker = breaker(Config::new().open_for(SECOND));
        let [one, other_one] = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        let other = breaker.clone();
        let there = thread::spawn(move || {
            let made = other.resume(one).report(Failure::tripping_for(LONG));
            made.is_some()
        });
        let here = breaker
            .resume(other_one)
            .report(Failure::tripping_for(2 * SECOND))
            .is_some();
        let there = there.join().unwrap();
        assert!(here != there, "one of them trips");
        assert!(breaker.snapshot().is_demanded());
        (history(&breaker), breaker.snapshot().retry_in(), here)
    });
    assert_eq!(
        ends,
        HashSet::from([
            (vec![RetryAfter], Some(LONG), false),
            (vec![RetryAfter], Some(LONG), true),
        ])
    );
}

/// The prober ends the open time, or the demand stands.
#[test]
fn a_late_demand_and_a_prober_exclude_each_other() {
    let ends = model("late demand against a prober", || {
        let breaker = breaker(Config::new().open_for(SECOND));
        let late = breaker.acquire().unwrap().into_token();
        breaker.acquire().unwrap().report(Failure::tripping());
        let other = breaker.clone();
        let there = thread::spawn(move || other.probe_early().is_some());
        demand(&breaker, late, LONG);
        let is_early = there.join().unwrap();
        let snapshot = breaker.snapshot();
        assert_eq!(history(&breaker).len(), 1 + usize::from(is_early));
        (is_early, snapshot.entered(), snapshot.is_demanded())
    });
    assert_eq!(
        ends,
        HashSet::from([(true, State::HalfOpen, false), (false, State::Open, true)])
    );
}

#[test]
fn of_an_operators_trip_and_a_demand_the_later_deadline_stands() {
    let ends = model("trip against trip_for", || {
        let breaker = breaker(Config::new().open_for(SECOND));
        let other = breaker.clone();
        let there = thread::spawn(move || other.trip_for(LONG));
        breaker.trip();
        there.join().unwrap();
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.retry_in(), Some(LONG));
        assert!(snapshot.is_demanded());
        history(&breaker)
    });
    assert_eq!(ends, HashSet::from([vec![Manual], vec![Manual, Manual]]));
}
