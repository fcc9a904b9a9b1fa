// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of the failure that opened a breaker, in a rejection; and classifiers that
//! panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use atomic_breaker_server::{
    AnyPermit, AtOnce, Classify, Failure, Guard, ManualClock, Outcome, State,
};

use super::{Keys, SECOND, build, fail, succeed};

fn words(keys: &Keys<'_>) -> Option<String> {
    let rejection = keys.of(1).acquire().unwrap_err();
    Some(rejection.last_failure?.text.to_string())
}

#[test]
fn a_call_keeps_the_text_of_the_failure_that_opened_it() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    for number in 0..2 {
        let _ = keys
            .of(1)
            .call(|| Err::<(), _>(format!("failure {number}")));
    }
    assert_eq!(words(&keys).as_deref(), Some("failure 1"));
    let entry = keys.entries().next().unwrap();
    assert_eq!(&*entry.last_failure.unwrap().text, "failure 1");
}

#[test]
fn a_rejection_by_command_names_no_failure() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    fail(&keys, 1);
    fail(&keys, 1);
    assert!(words(&keys).is_some());
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    assert_eq!(words(&keys), None, "forced open");
    keys.command(&1, |breaker| breaker.reset()).unwrap();
    keys.command(&1, |breaker| breaker.trip()).unwrap();
    assert_eq!(words(&keys), None, "tripped by command");
    clock.advance(10 * SECOND);
    let probe = keys.of(1).acquire().unwrap();
    assert_eq!(words(&keys), None, "half-open after that");
    probe.report(Outcome::Success);
    let entry = keys.entry(&1).unwrap();
    assert!(entry.last_failure.is_some(), "it is history");
}

#[test]
fn a_half_open_breaker_names_the_failure_that_opened_it() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    fail(&keys, 1);
    fail(&keys, 1);
    for _ in 0..3 {
        // Each probe is lost.
        clock.advance(600 * SECOND);
        std::mem::forget(keys.of(1).acquire().unwrap());
        assert!(words(&keys).is_some());
    }
}

#[test]
fn a_classifier_that_panics_has_failed_the_call() {
    struct Panics;
    impl<T, E> Classify<T, E> for Panics {
        fn classify(&self, _: &Result<T, E>) -> Outcome {
            panic!("a bug")
        }
    }
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let works = || Ok::<u8, &str>(1);
    let closure = |_: &Result<u8, &str>| -> Outcome { panic!("a bug") };
    let by_closure = || keys.of(1).call_with(&closure, works).map(drop);
    let by_classifier = || keys.of(1).call_with(AtOnce(Panics), works).map(drop);
    catch_unwind(AssertUnwindSafe(by_closure)).unwrap_err();
    catch_unwind(AssertUnwindSafe(by_classifier)).unwrap_err();
    assert_eq!(keys.state(&1), State::Open);
    assert_eq!(words(&keys).as_deref(), Some("panicked"));
}

#[test]
fn a_report_may_be_a_closure_that_says_what_a_result_means() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let trips = |result: &Result<u8, &str>| match result {
        Ok(_) => Outcome::Success,
        Err(_) => Failure::tripping().into(),
    };
    assert_eq!(keys.of(1).call_with(&trips, || Ok(7)), Ok(7));
    assert!(keys.of(1).call_with(&trips, || Err("down")).is_err());
    assert!(!succeed(&keys, 1));
}
