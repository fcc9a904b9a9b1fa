// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits for code that leaves by `?`: an attempt fails when it is dropped.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use atomic_breaker::{CallError, Cause, Failure, ManualClock, Outcome, Permit, Rejected, State};

use super::support::{AnyWord, Diary, Tested, breaker, ms, observed, on_both_words, rules};

type Anything = Box<dyn Error>;

/// The code that most users write first, with `attempt` instead of `acquire`.
fn first_number<W: AnyWord>(breaker: &Tested<'_, W>, answer: &str) -> Result<u32, Anything> {
    let attempt = breaker.acquire()?.failing_when_dropped();
    let word = answer.split(' ').next().ok_or("no answer")?;
    let number = word.parse()?;
    attempt.success();
    Ok(number)
}

/// The trap: with `acquire`, `?` cancels the permit, and a cancelled permit is not counted.
fn first_number_unguarded<W: AnyWord>(
    breaker: &Tested<'_, W>,
    answer: &str,
) -> Result<u32, Anything> {
    let permit = breaker.acquire()?;
    let number = answer.parse()?;
    permit.success();
    Ok(number)
}

fn an_attempt_that_is_left_by_the_question_mark_has_failed<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
    assert_eq!(first_number(&breaker, "7 dwarfs").unwrap(), 7);
    for failures in 1..3 {
        let error = first_number(&breaker, "seven").unwrap_err();
        assert_eq!(error.to_string(), "invalid digit found in string");
        assert_eq!(breaker.snapshot().failures(), failures);
    }
    assert!(first_number(&breaker, "seven").is_err());
    assert_eq!(breaker.state(), State::Open);
    let rejected = first_number(&breaker, "7").unwrap_err();
    let rejected = rejected.downcast_ref::<Rejected>().unwrap();
    assert_eq!(rejected.state(), State::Open);
}

fn a_permit_that_is_left_by_the_question_mark_counts_nothing_as_documented<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
    for _ in 0..10 {
        assert!(first_number_unguarded(&breaker, "seven").is_err());
    }
    assert_eq!(
        (breaker.state(), breaker.snapshot().failures()),
        (State::Closed, 0)
    );
}

fn an_attempt_that_succeeds_clears_the_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
    let _ = first_number(&breaker, "x");
    let _ = first_number(&breaker, "y");
    let _ = first_number(&breaker, "1");
    assert_eq!(breaker.snapshot().failures(), 0);
}

fn a_probe_that_is_left_by_the_question_mark_opens_again<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    breaker.trip();
    clock.advance(ms(10));
    assert!(first_number(&breaker, "x").is_err());
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, 2));
    clock.advance(ms(10));
    let attempt = breaker.acquire().unwrap().failing_when_dropped();
    assert!(attempt.is_probe());
    let made = attempt.success().map(|made| made.cause);
    assert_eq!(made, Some(Cause::ProbesSucceeded));
}

fn an_attempt_reports_what_a_permit_reports<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    let attempt = || breaker.acquire().unwrap().failing_when_dropped();
    assert_eq!(attempt().report(Failure::with_weight(3)), None);
    assert_eq!(breaker.snapshot().failures(), 3);
    assert_eq!(attempt().report(Outcome::Ignored), None);
    assert_eq!(attempt().cancel(), None);
    assert_eq!(
        breaker.snapshot().failures(),
        3,
        "ignored and cancelled are neutral"
    );
    assert_eq!(attempt().report(Outcome::Success), None);
    assert_eq!(breaker.snapshot().failures(), 0);
    assert_eq!(attempt().failure(), None);
    assert_eq!(attempt().record(&Err::<(), _>("no answer")), None);
    assert_eq!(breaker.snapshot().failures(), 2);
    assert_eq!(attempt().record(&Ok::<_, ()>(7)), None);
    assert_eq!(breaker.snapshot().failures(), 0);
    let made = attempt().report(Failure::tripping()).unwrap();
    assert_eq!((made.cause, made.to), (Cause::TripDemanded, State::Open));
}

fn an_attempt_is_reported_as_one_outcome<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = observed::<W>(rules(), &clock, &diary);
    drop(breaker.acquire().unwrap().failing_when_dropped());
    breaker.acquire().unwrap().failing_when_dropped().success();
    breaker.acquire().unwrap().failing_when_dropped().cancel();
    let expected = [Failure::new().into(), Outcome::Success];
    assert_eq!(*diary.outcomes.borrow(), expected);
    assert_eq!(diary.cancelled.get(), 1);
}

fn a_panic_fails_an_attempt<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1), &clock);
    let attempted = || {
        let _attempt = breaker.acquire().unwrap().failing_when_dropped();
        panic!("between");
    };
    catch_unwind(AssertUnwindSafe(attempted)).unwrap_err();
    assert_eq!(breaker.state(), State::Open);
}

fn any_permit_becomes_an_attempt<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(2), &clock);
    drop(breaker.acquire().unwrap().failing_when_dropped());
    drop(Permit::acquire(&breaker).unwrap().failing_when_dropped());
    assert_eq!(breaker.state(), State::Open);
    assert!(breaker.acquire().is_err());
}

fn an_attempt_of_an_earlier_epoch_counts_no_failure<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1), &clock);
    let attempt = breaker.acquire().unwrap().failing_when_dropped();
    breaker.reset();
    drop(attempt);
    assert_eq!(breaker.state(), State::Closed);
}

on_both_words!(
    an_attempt_that_is_left_by_the_question_mark_has_failed,
    a_permit_that_is_left_by_the_question_mark_counts_nothing_as_documented,
    an_attempt_that_succeeds_clears_the_row,
    a_probe_that_is_left_by_the_question_mark_opens_again,
    an_attempt_reports_what_a_permit_reports,
    an_attempt_is_reported_as_one_outcome,
    a_panic_fails_an_attempt,
    any_permit_becomes_an_attempt,
    an_attempt_of_an_earlier_epoch_counts_no_failure,
);

#[test]
fn an_attempt_shows_whether_it_is_a_probe() {
    let clock = ManualClock::new();
    let breaker = breaker::<super::support::Fine>(rules().open_for(ms(0)), &clock);
    let attempt = breaker.acquire().unwrap().failing_when_dropped();
    assert_eq!(format!("{attempt:?}"), "Attempt { is_probe: false, .. }");
    breaker.trip();
    let probe = breaker.acquire().unwrap().failing_when_dropped();
    assert_eq!(format!("{probe:?}"), "Attempt { is_probe: true, .. }");
}

/// `?` turns a rejection and an error of the work itself into the caller's one error type.
#[test]
fn the_question_mark_makes_a_call_error_of_a_rejection() {
    fn work(breaker: &Tested<'_, super::support::Fine>) -> Result<(), CallError<()>> {
        let attempt = breaker.acquire()?.failing_when_dropped();
        attempt.success();
        Ok(())
    }
    let clock = ManualClock::new();
    let breaker = breaker(rules(), &clock);
    assert_eq!(work(&breaker), Ok(()));
    breaker.trip();
    assert!(matches!(work(&breaker), Err(CallError::Rejected(_))));
    let permit: Result<Permit<_>, Rejected> = breaker.acquire();
    assert!(permit.is_err());
}
