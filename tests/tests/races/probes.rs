// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races for a place in the half-open state.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::Cause::{
    Manual, OpenTimeOver, ProbeFailed, ProbeLost, ProbesSucceeded as Succeeded,
};
use atomic_breaker::{Config, Permit, Token};
use loom::sync::Arc;
use loom::thread;

use super::{Modelled, bounded, breaker, history, model};

const SECOND: Duration = Duration::from_secs(1);

fn config() -> Config {
    Config::new()
        .consecutive_failures(1)
        .open_for(SECOND)
        .probe_lease(SECOND)
}

/// An open breaker, at its deadline.
fn due(config: Config) -> Arc<Modelled> {
    let breaker = breaker(config);
    breaker.trip();
    breaker.clock().advance(SECOND);
    breaker
}

/// A call that never ends, if it is admitted.
fn enter(breaker: &Modelled) -> bool {
    breaker.acquire().map(Permit::into_token).is_ok()
}

fn token(breaker: &Modelled) -> Token<u64> {
    breaker.acquire().unwrap().into_token()
}

/// The given number of callers come at the deadline, and `probes` of them pass.
fn callers_at_the_deadline(callers: usize, probes: u32) -> Vec<bool> {
    let breaker = due(config().probes(probes));
    let others: Vec<_> = (1..callers)
        .map(|_| {
            let breaker = breaker.clone();
            thread::spawn(move || enter(&breaker))
        })
        .collect();
    let mut admitted = vec![enter(&breaker)];
    admitted.extend(others.into_iter().map(|other| other.join().unwrap()));

    assert_eq!(u32::from(breaker.snapshot().probes_in_flight()), probes);
    assert_eq!(history(&breaker), [Manual, OpenTimeOver]);
    admitted
}

#[test]
fn of_two_callers_at_the_deadline_one_is_the_probe() {
    let admitted = model("two callers, one probe", || callers_at_the_deadline(2, 1));
    assert_eq!(
        admitted,
        HashSet::from([vec![true, false], vec![false, true]])
    );
}

#[test]
fn two_callers_at_the_deadline_are_the_two_probes() {
    let admitted = model("two callers, two probes", || callers_at_the_deadline(2, 2));
    assert_eq!(admitted, HashSet::from([vec![true, true]]));
}

#[test]
fn of_three_callers_at_the_deadline_one_is_the_probe() {
    let admitted = bounded("three callers, one probe", Some(3), || {
        callers_at_the_deadline(3, 1)
    });
    let only = |place| (0..3).map(|caller| caller == place).collect::<Vec<_>>();
    assert_eq!(admitted, HashSet::from([0, 1, 2].map(only)));
}

#[test]
fn of_three_callers_at_the_deadline_two_are_the_two_probes() {
    let admitted = bounded("three callers, two probes", Some(3), || {
        callers_at_the_deadline(3, 2)
    });
    let all_but = |place| (0..3).map(|caller| caller != place).collect::<Vec<_>>();
    assert_eq!(admitted, HashSet::from([0, 1, 2].map(all_but)));
}

#[test]
fn of_a_success_and_a_failure_of_two_probes_the_failure_reopens_once() {
    let histories = model("success against failure of two probes", || {
        let breaker = due(config().probes(2));
        let (first, second) = (token(&breaker), token(&breaker));

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).failure());
        breaker.resume(first).success();
        there.join().unwrap();
        assert_eq!(breaker.snapshot().trips(), 2);
        history(&breaker)
    });
    // One success of the two needed does not close, so the failure is never late.
    assert_eq!(
        histories,
        HashSet::from([vec![Manual, OpenTimeOver, ProbeFailed]])
    );
}

#[test]
fn two_probes_that_both_fail_reopen_once() {
    let histories = model("failure against failure of two probes", || {
        let breaker = due(config().probes(2));
        let (first, second) = (token(&breaker), token(&breaker));

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).failure());
        breaker.resume(first).failure();
        there.join().unwrap();
        assert_eq!(breaker.snapshot().trips(), 2);
        history(&breaker)
    });
    assert_eq!(
        histories,
        HashSet::from([vec![Manual, OpenTimeOver, ProbeFailed]])
    );
}

#[test]
fn two_successes_that_are_the_last_ones_needed_close_once() {
    let histories = model("two closing successes", || {
        let breaker = due(config().probes(2).close_after(3));
        breaker.acquire().unwrap().success();
        // One success of three is counted, two slots are left. As no more probes are admitted than are
        // needed, a success cannot close while another probe is out, which might fail.
        let (first, second) = (token(&breaker), token(&breaker));

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).success());
        breaker.resume(first).success();
        there.join().unwrap();
        history(&breaker)
    });
    assert_eq!(
        histories,
        HashSet::from([vec![Manual, OpenTimeOver, Succeeded]])
    );
}

#[test]
fn a_late_success_closes_whether_its_slot_is_taken_over_or_not() {
    let histories = model("take-over against a late success", || {
        let breaker = due(config());
        let lost = token(&breaker);
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let late = thread::spawn(move || other.resume(lost).success());
        assert!(enter(&breaker), "as the new probe, or as it is closed");
        late.join().unwrap();

        let in_flight = breaker.snapshot().probes_in_flight();
        (history(&breaker), in_flight, breaker.snapshot().successes())
    });
    assert_eq!(
        histories,
        HashSet::from([
            (vec![Manual, OpenTimeOver, Succeeded], 0, 0),
            (vec![Manual, OpenTimeOver, ProbeLost, Succeeded], 0, 0),
        ])
    );
}

#[test]
fn a_take_over_and_the_late_failure_of_the_lost_probe_exclude_each_other() {
    let histories = model("take-over against a late failure", || {
        let breaker = due(config());
        let lost = token(&breaker);
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let late = thread::spawn(move || other.resume(lost).failure());
        let is_admitted = enter(&breaker);
        late.join().unwrap();

        let in_flight = breaker.snapshot().probes_in_flight();
        (history(&breaker), is_admitted, in_flight)
    });
    assert_eq!(
        histories,
        HashSet::from([
            (vec![Manual, OpenTimeOver, ProbeFailed], false, 0),
            (vec![Manual, OpenTimeOver, ProbeLost], true, 1),
        ])
    );
}

/// The lost probe is dropped late, which must not give back the slot of the new one.
#[test]
fn a_take_over_and_the_late_drop_of_one_of_two_lost_probes_exclude_each_other() {
    let slots = model("take-over against a late drop", || {
        let breaker = due(config().probes(2).cancel_limit(2 * SECOND));
        let (_lost, dropped) = (token(&breaker), token(&breaker));
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let late = thread::spawn(move || other.resume(dropped).cancel());
        assert!(enter(&breaker), "as there is a slot, or none but lost ones");
        late.join().unwrap();
        (history(&breaker), breaker.snapshot().probes_in_flight())
    });
    assert_eq!(
        slots,
        HashSet::from([
            (vec![Manual, OpenTimeOver], 2),
            (vec![Manual, OpenTimeOver, ProbeLost], 1),
        ])
    );
}

#[test]
fn two_callers_take_a_lost_probe_over_once() {
    let admitted = model("two take-overs", || {
        let breaker = due(config());
        let _lost = token(&breaker);
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let there = thread::spawn(move || enter(&other));
        let here = enter(&breaker);
        let there = there.join().unwrap();
        assert_eq!(history(&breaker), [Manual, OpenTimeOver, ProbeLost]);
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
        (here, there)
    });
    assert_eq!(admitted, HashSet::from([(true, false), (false, true)]));
}

#[test]
fn a_dropped_probe_gives_its_slot_to_at_most_one_caller() {
    let slots = model("drop against admit", || {
        let breaker = due(config());
        let dropped = token(&breaker);

        let other = breaker.clone();
        let there = thread::spawn(move || drop(other.resume(dropped)));
        let is_admitted = enter(&breaker);
        there.join().unwrap();
        assert_eq!(history(&breaker), [Manual, OpenTimeOver]);
        (is_admitted, breaker.snapshot().probes_in_flight())
    });
    assert_eq!(slots, HashSet::from([(true, 1), (false, 0)]));
}

#[test]
fn a_drop_and_a_success_of_two_probes_are_both_counted() {
    let counts = model("drop against success", || {
        let breaker = due(config().probes(2));
        let (first, second) = (token(&breaker), token(&breaker));

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).cancel());
        breaker.resume(first).success();
        there.join().unwrap();
        let snapshot = breaker.snapshot();
        (snapshot.probes_in_flight(), snapshot.successes())
    });
    assert_eq!(counts, HashSet::from([(0, 1)]));
}

#[test]
fn a_probe_that_travels_as_a_token_closes_from_another_thread() {
    let meanwhile = model("token moved to another thread", || {
        let breaker = due(config());
        let token = token(&breaker);

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(token).success());
        let meanwhile = breaker.acquire().map(|permit| permit.is_probe()).ok();
        there.join().unwrap();
        assert_eq!(history(&breaker), [Manual, OpenTimeOver, Succeeded]);
        meanwhile
    });
    // Rejected before, admitted to a closed breaker after.
    assert_eq!(meanwhile, HashSet::from([None, Some(false)]));
}
