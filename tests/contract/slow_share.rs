// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slow calls with a share of their own, as a memory that counts them is shown them.

use std::cell::{Cell, RefCell};

use atomic_breaker::config::Fault;
use atomic_breaker::tally::Call;
use atomic_breaker::word::Layout;
use atomic_breaker::{
    Breaker, Cause, Config, Failure, LastCalls, ManualClock, Memory, Outcome, Ratio, State, Tally,
    Verdict,
};

use super::support::{AnyWord, Diary, ms, on_both_words, rules};

/// Keeps what it is shown, and says `Trip` of everything once it is told to.
#[derive(Default)]
struct Shown {
    calls: RefCell<Vec<Call>>,
    trips: Cell<bool>,
}

impl Tally for Shown {
    fn memory(&self) -> Memory {
        Memory::NONE.max_within_ms(1_000).counts_slow()
    }

    fn record(&self, call: Call, _: Option<Ratio>) -> Verdict {
        self.calls.borrow_mut().push(call);
        if self.trips.get() {
            Verdict::Trip
        } else {
            Verdict::Keep
        }
    }

    fn clear(&self) {
        self.calls.borrow_mut().clear();
    }
}

const RATIO: Ratio = Ratio::percent(50).within(ms(1_000)).slow_percent(80);

fn slow_rules() -> Config {
    rules().failure_ratio(RATIO).slow_call(ms(10))
}

type Told<'a, W> = Breaker<&'a ManualClock, W, &'a Shown, &'a Diary>;

fn told<'a, W: AnyWord>(
    config: Config,
    clock: &'a ManualClock,
    shown: &'a Shown,
    diary: &'a Diary,
) -> Told<'a, W> {
    let built = Breaker::builder(config, clock).word(W::fresh());
    built.tally(shown).observer(diary).build()
}

/// The epoch is that of the calls.
fn calls<W: AnyWord>(breaker: &Told<'_, W>, shown: &Shown) -> Vec<Call> {
    let epoch = breaker.snapshot().epoch();
    let calls = shown.calls.take();
    assert!(calls.iter().all(|call| call.epoch == epoch), "{calls:?}");
    let of_epoch_0 = |call: Call| {
        let made = match call.failure {
            Some(weight) => Call::failure(0, weight),
            None => Call::success(0),
        };
        if call.is_slow { made.slow() } else { made }
    };
    calls.into_iter().map(of_epoch_0).collect()
}

fn each_kind_of_call_is_shown_as_what_it_was<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let breaker = told::<W>(slow_rules(), &clock, &shown, &diary);
    let permits = [(); 7].map(|()| breaker.acquire().unwrap());
    let [quick, slow, failed, nothing, ignored, hinted, dropped] = permits;
    quick.success();
    clock.advance(ms(10));
    slow.success();
    failed.report(Failure::with_weight(3));
    nothing.report(Failure::with_weight(0));
    ignored.report(Outcome::Ignored);
    hinted.report(Failure::retry_after(ms(50)));
    drop(dropped);
    breaker.acquire().unwrap().report(Failure::slow());
    breaker.acquire().unwrap().failure();
    let success = Call::success(0);
    let expected = [
        success,
        success.slow(),
        Call::failure(0, 3).slow(),
        Call::failure(0, 1).slow(),
        success.slow(),
        success.slow(),
        Call::failure(0, 1),
    ];
    assert_eq!(calls(&breaker, &shown), expected);
    let slow = Outcome::from(Failure::slow());
    let outcomes = diary.outcomes.borrow();
    assert_eq!((outcomes[1], outcomes[6]), (slow, slow), "observers see it");
    assert_eq!(diary.cancelled.get(), 1);
}

/// It has succeeded; one that was dropped has not.
fn a_slow_success_ends_a_row_and_a_slow_drop_does_not<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let config = slow_rules().consecutive_failures(3);
    let breaker = told::<W>(config, &clock, &shown, &diary);
    let slow = || {
        let permit = breaker.acquire().unwrap();
        clock.advance(ms(10));
        permit
    };
    for _ in 0..2 {
        breaker.acquire().unwrap().failure();
    }
    drop(slow());
    assert_eq!(breaker.snapshot().failures(), 2);
    slow().success();
    assert_eq!(breaker.snapshot().failures(), 0);
    for _ in 0..20 {
        slow().success();
    }
    assert_eq!(breaker.state(), State::Closed, "no row of slow calls");
}

fn it_trips_by_a_slow_call_if_the_tally_says_so<W: AnyWord>() {
    for config in [slow_rules(), slow_rules().tally_only()] {
        for is_dropped in [false, true] {
            let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
            let diary = Diary::default();
            let breaker = told::<W>(config, &clock, &shown, &diary);
            shown.trips.set(true);
            breaker.acquire().unwrap().success();
            assert_eq!(
                breaker.state(),
                State::Closed,
                "of a success it counts nothing"
            );
            let permit = breaker.acquire().unwrap();
            clock.advance(ms(10));
            if is_dropped {
                drop(permit);
            } else {
                let made = permit.success().unwrap();
                assert_eq!((made.cause, made.to), (Cause::SlowRatio, State::Open));
            }
            assert_eq!(diary.causes(), [Cause::SlowRatio]);
        }
    }
}

/// A failure that was slow as well, as it is one of the failures.
fn a_slow_failure_trips_as_a_failure<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let breaker = told::<W>(slow_rules(), &clock, &shown, &diary);
    shown.trips.set(true);
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(10));
    permit.failure();
    assert_eq!(diary.causes(), [Cause::FailureRatio]);
}

fn a_slow_probe_fails_and_is_not_shown<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let config = slow_rules().open_for(ms(100)).cancel_limit(ms(5));
    let breaker = told::<W>(config, &clock, &shown, &diary);
    let ends: [fn(&Told<'_, W>, &ManualClock); 3] = [
        |breaker, clock| {
            let probe = breaker.acquire().unwrap();
            clock.advance(ms(10));
            probe.success();
        },
        |breaker, clock| {
            let probe = breaker.acquire().unwrap();
            clock.advance(ms(10));
            drop(probe);
        },
        |breaker, _| {
            let _ = breaker.acquire().unwrap().report(Failure::slow());
        },
    ];
    breaker.trip();
    for end in ends {
        clock.advance(ms(100));
        end(&breaker, &clock);
        assert_eq!(breaker.state(), State::Open);
    }
    assert!(shown.calls.borrow().is_empty());
    // One that lost its slot proves nothing by being slow.
    clock.advance(ms(100));
    let lost = breaker.acquire().unwrap();
    clock.advance(ms(10_000));
    let probe = breaker.acquire().unwrap();
    lost.success();
    assert_eq!(breaker.state(), State::HalfOpen);
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn while_traffic_returns_slow_calls_count_as_while_it_is_closed<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let config = slow_rules()
        .open_for(ms(100))
        .gradual_return(100, ms(1_000));
    let breaker = told::<W>(config, &clock, &shown, &diary);
    breaker.trip();
    clock.advance(ms(100));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Returning);
    let slow = || {
        let permit = breaker.acquire().unwrap();
        clock.advance(ms(10));
        permit.success()
    };
    assert_eq!(slow(), None);
    assert_eq!(calls(&breaker, &shown), [Call::success(0).slow()]);
    shown.trips.set(true);
    assert_eq!(slow().map(|made| made.cause), Some(Cause::SlowRatio));
}

fn a_slow_call_of_another_epoch_counts_nowhere<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let breaker = told::<W>(slow_rules().open_for(ms(100)), &clock, &shown, &diary);
    let [late, dropped] = [(); 2].map(|()| breaker.acquire().unwrap());
    breaker.trip();
    clock.advance(ms(100));
    breaker.acquire().unwrap().success();
    shown.trips.set(true);
    late.success();
    drop(dropped);
    assert!(shown.calls.borrow().is_empty() && breaker.state() == State::Closed);
}

/// Rules without the share, which replace the others or are those of a memory that does not count slow calls.
fn without_the_share_a_slow_call_is_a_failure<W: AnyWord>() {
    let (clock, shown) = (ManualClock::starting_at(1), Shown::default());
    let diary = Diary::default();
    let plain = Ratio::percent(50).within(ms(1_000));
    let breaker = told::<W>(slow_rules().failure_ratio(plain), &clock, &shown, &diary);
    let [slow, failed] = [(); 2].map(|()| breaker.acquire().unwrap());
    clock.advance(ms(10));
    slow.success();
    failed.failure();
    assert_eq!(calls(&breaker, &shown), [Call::failure(0, 1); 2]);
}

on_both_words!(
    each_kind_of_call_is_shown_as_what_it_was,
    a_slow_success_ends_a_row_and_a_slow_drop_does_not,
    it_trips_by_a_slow_call_if_the_tally_says_so,
    a_slow_failure_trips_as_a_failure,
    a_slow_probe_fails_and_is_not_shown,
    while_traffic_returns_slow_calls_count_as_while_it_is_closed,
    a_slow_call_of_another_epoch_counts_nowhere,
    without_the_share_a_slow_call_is_a_failure,
);

#[test]
fn a_share_that_cannot_be_counted_is_an_error() {
    let fault = |config: Config| config.check(Layout::WIDE).map_err(|it| it.fault());
    assert_eq!(fault(slow_rules()), Ok(()));
    let unmeasured = rules().failure_ratio(RATIO);
    assert_eq!(fault(unmeasured), Err(Fault::SlowShareWithoutSlowCall));
    for percent in [0, 101, 356, u32::MAX] {
        let config = slow_rules().failure_ratio(RATIO.slow_percent(percent));
        assert_eq!(fault(config), Err(Fault::SlowShare), "{percent}");
    }
    assert_eq!(RATIO.trips_at_slow_percent(), Some(80));
    assert_eq!(Ratio::percent(50).trips_at_slow_percent(), None);

    let last = Ratio::percent(50).of_last(20).slow_percent(80);
    let config = slow_rules().failure_ratio(last);
    let built = Breaker::builder(config, ManualClock::new())
        .last_calls(LastCalls::new())
        .try_build();
    let error = built.map(drop).unwrap_err();
    assert_eq!(error.fault(), Fault::SlowShareWithoutMemory);
}
