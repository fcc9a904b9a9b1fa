// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slow calls, as observers see them.

use super::support::{AnyWord, Diary, ms, observed, on_both_words, rules};
use atomic_breaker::{Cause, Failure, ManualClock, Outcome, State};

/// A success that was slow counts as a failure, and is reported as a slow one.
fn a_slow_success_is_reported_as_a_slow_failure<W: AnyWord>() {
    let (clock, diary) = (ManualClock::starting_at(1), Diary::default());
    let config = rules().slow_call(ms(10)).consecutive_failures(1);
    let breaker = observed::<W>(config, &clock, &diary);
    let (permit, late) = (breaker.acquire().unwrap(), breaker.acquire().unwrap());
    clock.advance(ms(10));
    let made = permit.success().map(|made| made.cause);
    assert_eq!(made, Some(Cause::FailureLimit));
    late.success();
    assert_eq!(
        *diary.outcomes.borrow(),
        [Outcome::from(Failure::slow()); 2]
    );
}

/// It opens again, like after any failure.
fn a_slow_probe_is_reported_as_a_slow_failure<W: AnyWord>() {
    let (clock, diary) = (ManualClock::starting_at(1), Diary::default());
    let breaker = observed::<W>(rules().slow_call(ms(10)), &clock, &diary);
    breaker.trip();
    clock.advance(ms(5_000));
    let probe = breaker.acquire().unwrap();
    clock.advance(ms(10));
    let made = probe.success().map(|made| made.cause);
    assert_eq!(made, Some(Cause::ProbeFailed));
    assert_eq!(*diary.outcomes.borrow(), [Outcome::from(Failure::slow())]);
}

/// Only a success becomes a slow failure: any other report of a call that took as long stays unchanged.
fn a_failure_that_took_long_is_not_a_slow_one<W: AnyWord>() {
    let (clock, diary) = (ManualClock::starting_at(1), Diary::default());
    let breaker = observed::<W>(rules().slow_call(ms(10)), &clock, &diary);
    let permits = [(); 4].map(|()| breaker.acquire().unwrap());
    clock.advance(ms(9));
    let [quick, failed, ignored, dropped] = permits;
    quick.success();
    clock.advance(ms(1));
    failed.failure();
    ignored.report(Outcome::Ignored);
    drop(dropped);
    let plain = [Outcome::Success, Failure::new().into(), Outcome::Ignored];
    assert_eq!(*diary.outcomes.borrow(), plain);
    assert_eq!(diary.cancelled.get(), 1, "however long it took");
}

/// A caller can measure with its own limit and report a slow failure.
fn a_caller_may_report_a_slow_failure<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = observed::<W>(rules().consecutive_failures(2), &clock, &diary);
    breaker.acquire().unwrap().report(Failure::slow());
    assert_eq!(breaker.snapshot().failures(), 1);
    let made = breaker.acquire().unwrap().report(Failure::slow()).unwrap();
    assert_eq!((made.cause, made.to), (Cause::FailureLimit, State::Open));
    assert_eq!(
        *diary.outcomes.borrow(),
        [Outcome::from(Failure::slow()); 2]
    );
}

on_both_words!(
    a_slow_success_is_reported_as_a_slow_failure,
    a_slow_probe_is_reported_as_a_slow_failure,
    a_failure_that_took_long_is_not_a_slow_one,
    a_caller_may_report_a_slow_failure,
);
