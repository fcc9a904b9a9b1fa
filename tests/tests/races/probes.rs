//! Races for a place in the half-open state.

use std::time::Duration;

use atomic_breaker::{Cause, Config, State};
use loom::thread;

use super::{bounded, breaker, model};

const SECOND: Duration = Duration::from_secs(1);

fn config() -> Config {
    Config::new()
        .consecutive_failures(1)
        .open_for(SECOND)
        .probe_lease(SECOND)
}

#[test]
fn of_two_callers_at_the_deadline_one_is_the_probe() {
    model("two callers at the deadline", || {
        let (breaker, heard) = breaker(config());
        breaker.trip();
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().map(|probe| probe.into_token()).is_ok());
        let here = breaker.acquire().map(|probe| probe.into_token()).is_ok();
        let there = there.join().unwrap();

        assert!(here != there, "one of them: {here} {there}");
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
        assert_eq!(heard.causes(), [Cause::Manual, Cause::OpenTimeOver]);
    });
}

#[test]
fn of_three_callers_at_the_deadline_two_are_the_two_probes() {
    bounded("three callers at the deadline, two probes", Some(3), || {
        let (breaker, heard) = breaker(config().probes(2));
        breaker.trip();
        breaker.clock().advance(SECOND);

        let others = [breaker.clone(), breaker.clone()].map(|breaker| {
            thread::spawn(move || breaker.acquire().map(|probe| probe.into_token()).is_ok())
        });
        let here = breaker.acquire().map(|probe| probe.into_token()).is_ok();
        let there = others.map(|other| other.join().unwrap());

        let admitted = [here, there[0], there[1]];
        assert_eq!(admitted.iter().filter(|is| **is).count(), 2, "{admitted:?}");
        assert_eq!(breaker.snapshot().probes_in_flight(), 2);
        assert_eq!(heard.times(Cause::OpenTimeOver), 1);
    });
}

#[test]
fn of_a_success_and_a_failure_of_two_probes_the_failure_reopens_once() {
    model("success against failure of two probes", || {
        let (breaker, heard) = breaker(config().probes(2));
        breaker.trip();
        breaker.clock().advance(SECOND);
        let first = breaker.acquire().unwrap();
        let second = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).failure());
        first.success();
        there.join().unwrap();

        // One success of the two needed does not close, so the failure is never late.
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, 2));
        assert_eq!(heard.times(Cause::ProbeFailed), 1);
        assert_eq!(heard.times(Cause::ProbesSucceeded), 0);
    });
}

#[test]
fn two_successes_that_are_the_last_ones_needed_close_once() {
    model("two closing successes", || {
        let (breaker, heard) = breaker(config().probes(2).close_after(3));
        breaker.trip();
        breaker.clock().advance(SECOND);
        breaker.acquire().unwrap().success();
        // One success of three is counted, two slots are left. As no more probes are admitted than are
        // needed, a success cannot close while another probe is out, which might fail.
        let first = breaker.acquire().unwrap();
        let second = breaker.acquire().unwrap().into_token();
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(second).success());
        first.success();
        there.join().unwrap();

        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(heard.times(Cause::ProbesSucceeded), 1);
        assert_eq!(heard.causes().len(), 3);
    });
}

#[test]
fn a_take_over_and_the_late_success_of_the_lost_probe_exclude_each_other() {
    model("take-over against a late success", || {
        let (breaker, heard) = breaker(config());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let lost = breaker.acquire().unwrap().into_token();
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let late = thread::spawn(move || other.resume(lost).success());
        let new = breaker.acquire().map(|permit| permit.into_token()).ok();
        late.join().unwrap();

        // It closes first and the new caller passes, or its slot is taken and nobody hears it.
        let snapshot = breaker.snapshot();
        assert!(new.is_some());
        match snapshot.state() {
            State::Closed => assert_eq!(heard.times(Cause::ProbesSucceeded), 1),
            State::HalfOpen => {
                assert_eq!(heard.times(Cause::ProbeLost), 1);
                assert_eq!(heard.times(Cause::ProbesSucceeded), 0);
                assert_eq!((snapshot.probes_in_flight(), snapshot.successes()), (1, 0));
            }
            other => panic!("{other}"),
        }
        assert_eq!(heard.causes().len(), 3);
    });
}

#[test]
fn a_take_over_and_the_late_failure_of_the_lost_probe_exclude_each_other() {
    model("take-over against a late failure", || {
        let (breaker, heard) = breaker(config());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let lost = breaker.acquire().unwrap().into_token();
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let late = thread::spawn(move || other.resume(lost).failure());
        let new = breaker.acquire().map(|permit| permit.into_token()).ok();
        late.join().unwrap();

        match (breaker.state(), new) {
            (State::HalfOpen, Some(_)) => assert_eq!(heard.times(Cause::ProbeFailed), 0),
            (State::Open, None) => assert_eq!(heard.times(Cause::ProbeLost), 0),
            (state, new) => panic!("{state}, {new:?}"),
        }
        assert_eq!(heard.causes().len(), 3);
    });
}

#[test]
fn two_callers_take_a_lost_probe_over_once() {
    model("two take-overs", || {
        let (breaker, heard) = breaker(config());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let _lost = breaker.acquire().unwrap().into_token();
        breaker.clock().advance(SECOND);

        let other = breaker.clone();
        let there = thread::spawn(move || other.acquire().map(|probe| probe.into_token()).is_ok());
        let here = breaker.acquire().map(|probe| probe.into_token()).is_ok();
        assert!(here != there.join().unwrap());
        assert_eq!(heard.times(Cause::ProbeLost), 1);
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    });
}

#[test]
fn a_dropped_probe_gives_its_slot_to_one_caller_or_to_nobody_yet() {
    model("drop against admit", || {
        let (breaker, _heard) = breaker(config());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let dropped = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || drop(other.resume(dropped)));
        let new = breaker.acquire().map(|permit| permit.into_token());
        there.join().unwrap();

        let in_flight = breaker.snapshot().probes_in_flight();
        assert_eq!(in_flight, u8::from(new.is_ok()), "neither lost nor doubled");
        if new.is_err() {
            assert!(breaker.acquire().is_ok(), "the slot is back");
        }
    });
}

#[test]
fn a_probe_that_travels_as_a_token_closes_from_another_thread() {
    model("token moved to another thread", || {
        let (breaker, heard) = breaker(config());
        breaker.trip();
        breaker.clock().advance(SECOND);
        let token = breaker.acquire().unwrap().into_token();

        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(token).success());
        let meanwhile = breaker.acquire().map(|permit| permit.is_probe());
        there.join().unwrap();

        assert!(
            matches!(meanwhile, Err(_) | Ok(false)),
            "refused before, closed after"
        );
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(heard.times(Cause::ProbesSucceeded), 1);
    });
}
