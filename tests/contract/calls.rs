// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classifiers; panics; futures; tokens.

use std::cell::Cell;
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use atomic_breaker::{
    Breaker, CallError, Classify, Config, Failure, ManualClock, Outcome, State, Token,
};

use super::support::{AnyWord, Diary, Tested, breaker, ms, on_both_words, rules};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Runs a future that is ready at once.
fn run<F: Future>(future: F) -> F::Output {
    match poll(pin!(future)) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready"),
    }
}

fn half_open<W: AnyWord>(clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(rules().open_for(ms(0)), clock);
    breaker.trip();
    breaker
}

/// Calls that fail together, because their connection is lost, are told apart from those that fail later.
fn a_permit_says_whether_a_failure_was_counted_since_it_was_granted<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
    let permits = [(); 2].map(|()| breaker.acquire().unwrap());
    assert!(permits.iter().all(|permit| permit.is_unchanged()));
    let [first, second] = permits;
    first.failure();
    assert!(!second.is_unchanged());
    assert!(breaker.acquire().unwrap().is_unchanged());
}

fn a_rejected_operation_is_not_run<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.trip();
    let runs = Cell::new(0);
    let operation = || {
        runs.set(runs.get() + 1);
        Ok::<_, ()>(())
    };
    assert!(breaker.call(operation).is_err());
    assert!(run(breaker.call_async(|| ready(operation()))).is_err());
    assert_eq!(runs.get(), 0);
}

fn a_classifier_decides_what_a_result_means<W: AnyWord>() {
    struct ByCode;
    impl Classify<u32, u32> for ByCode {
        fn classify(&self, result: &Result<u32, u32>) -> Outcome {
            match result {
                Ok(200) => Outcome::Success,
                Ok(_) => Failure::new().into(),
                Err(404) => Outcome::Ignored,
                Err(503) => Failure::with_weight(3).into(),
                Err(_) => Failure::tripping().into(),
            }
        }
    }
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    let call = |result| breaker.call_with(ByCode, || result);
    assert_eq!(call(Ok(500)), Ok(500));
    assert_eq!(breaker.snapshot().failures(), 1, "an `Ok` can be a failure");
    assert_eq!(call(Err(404)), Err(CallError::Failed(404)));
    assert_eq!(breaker.snapshot().failures(), 1, "an `Err` can be ignored");
    assert_eq!(call(Err(503)), Err(CallError::Failed(503)));
    assert_eq!(breaker.snapshot().failures(), 4);
    assert_eq!(call(Ok(200)), Ok(200));
    assert_eq!(breaker.snapshot().failures(), 0);
    let _ = call(Err(1));
    assert_eq!(breaker.state(), State::Open);

    breaker.reset();
    let result = run(breaker.call_async_with(ByCode, || ready(Err(503))));
    assert_eq!(result, Err(CallError::Failed(503)));
    assert_eq!(breaker.snapshot().failures(), 3);
}

fn a_result_can_be_recorded_by_hand<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.acquire().unwrap().record(&Err::<(), _>("no"));
    assert_eq!(breaker.snapshot().failures(), 1);
    breaker.acquire().unwrap().record(&Ok::<_, ()>("yes"));
    assert_eq!(breaker.snapshot().failures(), 0);
}

type Act<W> = fn(&Tested<'_, W>);

/// Ways to panic in a guarded call; each must count as one failure.
fn panics<W: AnyWord>() -> [(&'static str, Act<W>); 3] {
    [
        ("in the operation", |breaker| {
            let _ = breaker.call(|| -> Result<(), ()> { panic!("in the operation") });
        }),
        ("while the future is made", |breaker| {
            let make = || -> std::future::Ready<Result<(), ()>> { panic!("while it is made") };
            let _ = run(breaker.call_async(make));
        }),
        ("while the future is polled", |breaker| {
            let future = || poll_fn(|_| -> Poll<Result<(), ()>> { panic!("while polled") });
            let _ = run(breaker.call_async(future));
        }),
    ]
}

fn a_panic_counts_as_one_failure_and_is_passed_on<W: AnyWord>() {
    for (how, panic) in panics::<W>() {
        let clock = ManualClock::new();
        let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
        for failures in 1..3 {
            catch_unwind(AssertUnwindSafe(|| panic(&breaker))).unwrap_err();
            assert_eq!(breaker.snapshot().failures(), failures, "{how}");
        }
        catch_unwind(AssertUnwindSafe(|| panic(&breaker))).unwrap_err();
        assert_eq!(breaker.state(), State::Open, "{how}");
    }
}

fn a_probe_that_panics_reopens_and_leaves_no_slot_taken<W: AnyWord>() {
    for (how, panic) in panics::<W>() {
        let clock = ManualClock::new();
        let breaker = half_open::<W>(&clock);
        catch_unwind(AssertUnwindSafe(|| panic(&breaker))).unwrap_err();
        assert_eq!(
            (breaker.snapshot().entered(), breaker.snapshot().trips()),
            (State::Open, 2),
            "{how}"
        );
        assert!(breaker.acquire().is_ok(), "{how}");
    }
}

#[test]
fn a_panic_is_reported_as_one_outcome() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer(&diary)
        .build();
    let sync = || breaker.call(|| -> Result<(), ()> { panic!("in the operation") });
    let future = || poll_fn(|_| -> Poll<Result<(), ()>> { panic!("while polled") });
    catch_unwind(AssertUnwindSafe(sync)).unwrap_err();
    catch_unwind(AssertUnwindSafe(|| run(breaker.call_async(future)))).unwrap_err();
    assert_eq!(*diary.outcomes.borrow(), [Outcome::from(Failure::new()); 2]);
    assert_eq!(diary.cancelled.get(), 0);
}

fn a_panic_of_the_classifier_counts_as_a_failure<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(&clock);
    let classify = |_: &Result<(), ()>| -> Outcome { panic!("in the classifier") };
    let call = || breaker.call_with(classify, || Ok(()));
    catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.entered(), snapshot.trips()), (State::Open, 2));

    let breaker = half_open::<W>(&clock);
    let call = || run(breaker.call_async_with(classify, async || Ok(())));
    catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    assert_eq!(breaker.snapshot().entered(), State::Open);
}

fn a_future_that_is_dropped_cancels<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(&clock);
    {
        let mut call = pin!(breaker.call_async(pending::<Result<(), ()>>));
        assert!(poll(call.as_mut()).is_pending());
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
        assert!(poll(call.as_mut()).is_pending());
    }
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.state(), snapshot.probes_in_flight()),
        (State::HalfOpen, 0)
    );
}

fn a_future_that_is_never_polled_takes_no_slot<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(&clock);
    drop(breaker.call_async(pending::<Result<(), ()>>));
    let entered = breaker.snapshot().entered();
    assert_eq!(entered, State::Open, "not even admitted");
}

fn a_future_reports_when_it_is_ready<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(&clock);
    let is_ready = Cell::new(false);
    let future = || {
        poll_fn(|_| {
            if is_ready.get() {
                Poll::Ready(Ok::<_, ()>(7))
            } else {
                Poll::Pending
            }
        })
    };
    let mut call = pin!(breaker.call_async(future));
    assert!(poll(call.as_mut()).is_pending());
    assert_eq!(breaker.state(), State::HalfOpen);
    is_ready.set(true);
    assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(7)));
    assert_eq!(breaker.state(), State::Closed);
    let failed = run(breaker.call_async(|| ready(Err::<(), _>("no"))));
    assert_eq!(failed, Err(CallError::Failed("no")));
    assert_eq!(breaker.snapshot().failures(), 1);
}

/// Guarding a call once is enough: a breaker around itself counts each failure twice while it is closed, and
/// the outer probe holds the only slot, so the inner call is rejected.
fn a_breaker_inside_itself_does_what_is_documented<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    let twice = |result: Result<(), CallError<()>>| breaker.call(|| breaker.call(|| result));
    let _ = twice(Err(CallError::Failed(())));
    assert_eq!(breaker.snapshot().failures(), 2);
    breaker.trip();
    for trips in 2..5 {
        clock.advance(ms(10));
        let answer = twice(Ok(()));
        let Err(CallError::Failed(CallError::Rejected(rejected))) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(rejected.state(), State::HalfOpen);
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, trips));
    }
}

#[test]
fn an_async_closure_is_guarded_like_any_other() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new(), &clock);
    let input = 20;
    let call = breaker.call_async(async || Ok::<_, ()>(input + 1));
    assert_eq!(run(call), Ok(21));
}

fn a_token_carries_a_probe_elsewhere<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(&clock);
    let token = breaker.acquire().unwrap().into_token();
    assert_eq!(breaker.snapshot().probes_in_flight(), 1, "not cancelled");
    let permit = breaker.resume(token);
    assert!(permit.is_probe());
    permit.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_token_survives_as_two_numbers<W: AnyWord>() {
    let clock = ManualClock::starting_at(50);
    let config = rules().consecutive_failures(1).slow_call(ms(10));
    let breaker = breaker::<W>(config, &clock);
    let (granted, started_ms) = breaker.acquire().unwrap().into_token().into_raw();
    assert_eq!(started_ms, 50);
    clock.advance(ms(10));
    breaker
        .resume(Token::from_raw(granted, started_ms))
        .success();
    assert_eq!(breaker.state(), State::Open, "the start travels along");
}

fn a_token_that_is_lost_is_a_lost_probe<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(&clock);
    drop(breaker.acquire().unwrap().into_token());
    assert!(breaker.acquire().is_err());
    clock.advance(ms(10_000));
    assert!(breaker.acquire().is_ok());
}

#[test]
fn a_permit_shows_whether_it_is_a_probe() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new().open_for(ms(0)), &clock);
    let permit = breaker.acquire().unwrap();
    assert_eq!(format!("{permit:?}"), "Permit { is_probe: false, .. }");
    breaker.trip();
    let probe = breaker.acquire().unwrap();
    assert_eq!(format!("{probe:?}"), "Permit { is_probe: true, .. }");
    assert!(!permit.is_probe());
}

#[test]
fn a_failure_shows_what_it_asks_for() {
    let failure = Failure::tripping_for(ms(30));
    assert_eq!((failure.weight(), failure.is_tripping()), (1, true));
    assert_eq!(failure.min_open_time(), Some(ms(30)));
    let plain = Failure::default();
    assert_eq!(
        (plain.weight(), plain.is_tripping(), plain.min_open_time()),
        (1, false, None)
    );
    assert_eq!(Failure::with_weight(3).weight(), 3);
    let slow = Failure::slow();
    assert_eq!(
        (slow.weight(), slow.is_tripping(), slow.min_open_time()),
        (1, false, None)
    );
    let are_slow = [
        slow,
        plain,
        failure,
        Failure::with_weight(2),
        Failure::tripping(),
    ];
    assert_eq!(
        are_slow.map(Failure::is_slow),
        [true, false, false, false, false]
    );
}

on_both_words!(
    a_permit_says_whether_a_failure_was_counted_since_it_was_granted,
    a_rejected_operation_is_not_run,
    a_classifier_decides_what_a_result_means,
    a_result_can_be_recorded_by_hand,
    a_panic_counts_as_one_failure_and_is_passed_on,
    a_probe_that_panics_reopens_and_leaves_no_slot_taken,
    a_panic_of_the_classifier_counts_as_a_failure,
    a_future_that_is_dropped_cancels,
    a_future_that_is_never_polled_takes_no_slot,
    a_future_reports_when_it_is_ready,
    a_breaker_inside_itself_does_what_is_documented,
    a_token_carries_a_probe_elsewhere,
    a_token_survives_as_two_numbers,
    a_token_that_is_lost_is_a_lost_probe,
);
