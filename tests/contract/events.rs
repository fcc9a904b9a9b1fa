// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers; the event log.

use std::cell::Cell;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{
    Breaker, Cause, Clock, Config, EventLog, Failure, LastCalls, ManualClock, Observer, Outcome,
    Ratio, State,
};

use super::support::{AnyWord, Diary, ms, observed, on_both_words, rules};

fn a_whole_life_is_reported_transition_by_transition<W: AnyWord>() {
    let clock = ManualClock::starting_at(1_000);
    let diary = Diary::default();
    let config = rules()
        .consecutive_failures(1)
        .open_for(ms(16))
        .exponential(2, ms(64))
        .probe_lease(ms(8));
    let breaker = observed::<W>(config, &clock, &diary);

    breaker.acquire().unwrap().failure();
    clock.advance(ms(16));
    breaker.acquire().unwrap().failure();
    clock.advance(ms(32));
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(8));
    breaker.acquire().unwrap().success();
    breaker.acquire().unwrap().report(Failure::tripping());
    breaker.reset();
    breaker
        .acquire()
        .unwrap()
        .report(Failure::tripping_for(ms(1_024)));

    let (closed, open, half_open) = (State::Closed, State::Open, State::HalfOpen);
    let returning = State::Returning;
    let expected = [
        (closed, open, Cause::FailureLimit, 1_000, 1, 16),
        (open, half_open, Cause::OpenTimeOver, 1_016, 1, 0),
        (half_open, open, Cause::ProbeFailed, 1_016, 2, 32),
        (open, half_open, Cause::OpenTimeOver, 1_048, 2, 0),
        (half_open, half_open, Cause::ProbeLost, 1_056, 2, 0),
        (half_open, returning, Cause::ProbesSucceeded, 1_056, 2, 0),
        (returning, open, Cause::TripDemanded, 1_056, 3, 64),
        (open, closed, Cause::Manual, 1_056, 0, 0),
        (closed, open, Cause::RetryAfter, 1_056, 1, 1_024),
    ];
    let reported = diary.transitions.borrow();
    assert_eq!(reported.len(), expected.len());
    for (epoch, (made, expected)) in (1..).zip(reported.iter().zip(expected)) {
        let (from, to, cause, at_ms, trips, open_for_ms) = expected;
        assert_eq!((made.from, made.to, made.cause), (from, to, cause));
        assert_eq!((made.at_ms, made.epoch), (at_ms, epoch % W::EPOCHS as u16));
        assert_eq!((made.trips, made.open_for_ms), (trips, open_for_ms));
        let open_for = (to == open).then(|| Duration::from_millis(open_for_ms.into()));
        assert_eq!(made.open_for(), open_for);
    }
}

fn rejections_outcomes_and_drops_are_each_reported_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let breaker = observed::<W>(rules(), &clock, &diary);

    breaker.acquire().unwrap().success();
    breaker.acquire().unwrap().failure();
    breaker.acquire().unwrap().report(Failure::with_weight(2));
    breaker.acquire().unwrap().report(Outcome::Ignored);
    breaker.acquire().unwrap().report(Outcome::Success);
    breaker.acquire().unwrap().cancel();
    let late = breaker.acquire().unwrap();
    breaker.trip();
    late.success();
    let rejected = breaker.acquire().unwrap_err();

    let expected = [
        Outcome::Success,
        Failure::new().into(),
        Failure::with_weight(2).into(),
        Outcome::Ignored,
        Outcome::Success,
        Outcome::Success,
    ];
    assert_eq!(*diary.outcomes.borrow(), expected, "late ones too");
    assert_eq!(diary.cancelled.get(), 1);
    assert_eq!(*diary.rejected.borrow(), [rejected]);
}

fn a_token_on_its_way_is_not_reported_as_a_drop<W: AnyWord>() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let breaker = observed::<W>(rules(), &clock, &diary);
    let token = breaker.acquire().unwrap().into_token();
    assert_eq!(diary.cancelled.get(), 0);
    drop(breaker.resume(token));
    assert_eq!(diary.cancelled.get(), 1);
}

on_both_words!(
    a_whole_life_is_reported_transition_by_transition,
    rejections_outcomes_and_drops_are_each_reported_once,
    a_token_on_its_way_is_not_reported_as_a_drop,
);

/// The readings of two threads may cross: a transition has the right time nevertheless.
#[test]
fn a_clock_that_steps_back_while_a_transition_is_made_does_not_upset_its_time() {
    struct Backwards(Cell<u32>);
    impl Clock for Backwards {
        fn now_ms(&self) -> u32 {
            let now = self.0.get();
            self.0.set(now - 1);
            now
        }
    }
    for origin in [1_000_000, 1 << 16, 1 << 22, 1 << 31] {
        let clock = Backwards(Cell::new(origin));
        let config = Config::new().open_for(ms(5_000));
        let narrow = Breaker::over(AtomicU32::new(0), config, &clock)
            .trip()
            .unwrap();
        let wide = Breaker::over(AtomicU64::new(0), config, &clock)
            .trip()
            .unwrap();
        for made in [narrow, wide] {
            // Each exchange that fails, as a weak one may for no reason, reads the clock again.
            assert!((clock.0.get()..=origin).contains(&made.at_ms), "{made:?}");
            let open_for = made.open_for().unwrap();
            assert!((ms(4_900)..ms(5_200)).contains(&open_for), "{made:?}");
        }
    }
}

#[test]
fn a_pair_notifies_both_and_a_dyn_reference_forwards() {
    let clock = ManualClock::new();
    let (first, second) = (Diary::default(), Diary::default());
    let dynamic: &dyn Observer = &second;
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer((&first, dynamic))
        .build();
    breaker.acquire().unwrap().success();
    drop(breaker.acquire().unwrap());
    breaker.trip();
    let _ = breaker.acquire();
    for diary in [&first, &second] {
        assert_eq!(diary.transitions.borrow().len(), 1);
        assert_eq!(diary.outcomes.borrow().len(), 1);
        assert_eq!(diary.rejected.borrow().len(), 1);
        assert_eq!(diary.cancelled.get(), 1);
    }
}

#[test]
fn a_pair_listens_if_either_observer_does() {
    assert!(!().is_listening());
    assert!(!((), ()).is_listening());
    assert!(((), Diary::default()).is_listening());
    assert!((Diary::default(), ()).is_listening());
}

#[test]
fn the_ratio_is_reported_as_its_own_cause() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let ratio = Ratio::percent(100).of_last(4).min_calls(2);
    let breaker = Breaker::builder(Config::new().failure_ratio(ratio), &clock)
        .last_calls(LastCalls::new())
        .observer(&diary)
        .build();
    breaker.acquire().unwrap().failure();
    breaker.acquire().unwrap().failure();
    assert_eq!(diary.transitions.borrow()[0].cause, Cause::FailureRatio);
}

#[test]
fn the_log_keeps_the_last_transitions_in_order_and_counts_the_lost() {
    let log = EventLog::<3>::new();
    let clock = ManualClock::new();
    let breaker = Breaker::builder(Config::new(), &clock)
        .word(AtomicU64::new(0))
        .observer(&log)
        .build();
    assert!(log.is_empty());
    for _ in 0..5 {
        breaker.reset();
    }
    assert_eq!((log.len(), log.is_empty()), (3, false));
    let epochs: Vec<_> = std::iter::from_fn(|| log.pop())
        .map(|made| made.epoch)
        .collect();
    assert_eq!(epochs, [3, 4, 5]);
    assert_eq!((log.take_lost(), log.take_lost()), (2, 0));
    breaker.trip();
    assert_eq!(log.pop().map(|made| made.to), Some(State::Open));
    assert_eq!(log.pop(), None);
}

#[test]
fn a_log_in_a_static_takes_the_transitions_of_several_breakers() {
    static LOG: EventLog<8> = EventLog::new();
    let clock = ManualClock::new();
    let one = Breaker::builder(Config::new(), &clock)
        .word(AtomicU32::new(0))
        .observer(&LOG)
        .build();
    let two = Breaker::builder(Config::new(), &clock)
        .word(AtomicU64::new(0))
        .observer(&LOG)
        .build();
    one.trip();
    two.force_open();
    assert_eq!(LOG.pop().map(|made| made.to), Some(State::Open));
    assert_eq!(LOG.pop().map(|made| made.to), Some(State::ForcedOpen));
}
