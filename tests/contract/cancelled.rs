// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits that are dropped without a report: they are neutral while young, and give no free retry to a
//! resource that hangs.

use std::cell::Cell;
use std::future::{Future, pending, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{
    Breaker, Cause, Config, LastCalls, ManualClock, Observer, Outcome, Ratio, State, Transition,
};

use super::support::{AnyWord, Diary, Tested, breaker, ms, observed, on_both_words, rules};

fn half_open<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config.open_for(ms(10)), clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// `timeout(limit, breaker.call_async(hang))`, the version that most users write first: the call is dropped
/// after the limit.
fn timeout_around<W: AnyWord>(breaker: &Tested<'_, W>, limit: Duration) -> bool {
    let mut call = pin!(breaker.call_async(pending::<Result<(), ()>>));
    let is_admitted = call
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending();
    if is_admitted {
        breaker.clock().advance(limit);
    }
    is_admitted
}

fn timeouts_around_hanging_calls_trip_where_slow_calls_are_measured<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().slow_call(ms(1_000)), &clock);
    let admitted = (0..50).filter(|_| timeout_around(&breaker, ms(2_000)));
    assert_eq!(admitted.count(), 5, "of 50");
    assert_eq!(breaker.state(), State::Open);
}

/// As documented: a dropped call says nothing about the resource, unless slow calls are measured.
fn timeouts_around_hanging_calls_do_not_trip_where_slow_calls_are_not_measured<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    let admitted = (0..50).filter(|_| timeout_around(&breaker, ms(2_000)));
    assert_eq!(admitted.count(), 50);
    assert_eq!(breaker.snapshot().failures(), 0);
}

/// Cancelled probes used to follow each other without a pause.
fn a_timeout_around_a_hanging_probe_opens_again<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().exponential(2, ms(40));
    let breaker = half_open::<W>(config, &clock);
    for (trip, open_ms) in [(2, 20), (3, 40), (4, 40)] {
        assert!(timeout_around(&breaker, ms(2_000)));
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, trip));
        assert_eq!(snapshot.retry_in(), Some(ms(open_ms)));
        assert!(!timeout_around(&breaker, ms(2_000)), "rejected");
        clock.advance(ms(open_ms));
    }
}

fn a_thousand_permits_dropped_after_ten_seconds_trip<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = observed::<W>(rules().slow_call(ms(100)), &clock, &diary);
    let permits: Vec<_> = (0..1_000).map(|_| breaker.acquire().unwrap()).collect();
    clock.advance(ms(10_000));
    let mut made = Vec::new();
    for permit in permits {
        made.extend(permit.cancel().map(|transition| transition.cause));
    }
    assert_eq!(made, [Cause::FailureLimit]);
    assert_eq!(diary.causes(), [Cause::FailureLimit]);
    assert_eq!(diary.cancelled.get(), 1_000, "each is reported as it ended");
    assert!(diary.outcomes.borrow().is_empty());
}

fn a_drop_is_slow_from_the_limit_on_and_not_a_millisecond_before<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker::<W>(rules().slow_call(ms(250)), &clock);
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(249));
    drop(permit);
    assert_eq!(breaker.snapshot().failures(), 0);
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(250));
    drop(permit);
    assert_eq!(breaker.snapshot().failures(), 1, "a failure of weight 1");
}

fn a_slow_drop_counts_in_the_window_and_in_the_ratio<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let slow = rules().slow_call(ms(10));
    let window = breaker::<W>(slow.failures_within(2, ms(1_000)), &clock);
    let ratio = Ratio::percent(100).of_last(10).min_calls(2);
    let ratio = Breaker::builder(slow.tally_only().failure_ratio(ratio), &clock)
        .last_calls(LastCalls::over(W::fresh()))
        .build();
    for _ in 0..2 {
        let permits = (window.acquire().unwrap(), ratio.acquire().unwrap());
        clock.advance(ms(10));
        drop(permits);
    }
    assert_eq!(window.state(), State::Open);
    assert_eq!(
        (ratio.state(), ratio.tally().seen_and_failed()),
        (State::Open, (2, 2))
    );
}

fn a_probe_dropped_at_the_limit_has_failed_and_a_younger_one_has_not<W: AnyWord>() {
    for (config, limit) in [
        (rules(), 250),
        (rules().cancel_limit(ms(50)), 50),
        (rules().cancel_limit(ms(1)), 1),
    ] {
        let clock = ManualClock::new();
        let breaker = half_open::<W>(config, &clock);
        let young = breaker.acquire().unwrap();
        clock.advance(ms(limit - 1));
        assert_eq!(young.cancel(), None);
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.state(), State::HalfOpen, "{limit}");
        assert_eq!(snapshot.probes_in_flight(), 0, "{limit}");

        let old = breaker.acquire().unwrap();
        clock.advance(ms(limit));
        let made = old.cancel().unwrap();
        assert_eq!((made.cause, made.to), (Cause::ProbeCancelled, State::Open));
        assert_eq!((made.trips, made.open_for()), (2, Some(ms(10))));
    }
}

fn with_a_limit_of_zero_every_dropped_probe_has_failed<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().cancel_limit(ms(0)), &clock);
    drop(breaker.acquire().unwrap());
    assert_eq!(breaker.state(), State::Open);
}

/// This holds even if the limit for cancelled probes is longer.
fn a_probe_dropped_slow_has_failed<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().slow_call(ms(20)).cancel_limit(ms(500));
    let breaker = half_open::<W>(config, &clock);
    let probe = breaker.acquire().unwrap();
    clock.advance(ms(19));
    assert_eq!(probe.cancel(), None);
    let probe = breaker.acquire().unwrap();
    clock.advance(ms(20));
    let made = probe.cancel().map(|made| made.cause);
    assert_eq!(made, Some(Cause::ProbeCancelled));
}

fn an_ignored_call_never_counts_however_long_it_took<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let config = rules().slow_call(ms(10)).consecutive_failures(1);
    let breaker = breaker::<W>(config.open_for(ms(10)), &clock);
    let ignored = || {
        let permit = breaker.acquire().unwrap();
        clock.advance(ms(5_000));
        assert_eq!(permit.report(Outcome::Ignored), None);
    };
    ignored();
    assert_eq!(breaker.state(), State::Closed);
    breaker.trip();
    clock.advance(ms(10));
    ignored();
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.state(), State::HalfOpen);
    assert_eq!(snapshot.probes_in_flight(), 0);
}

fn while_the_clock_steps_back_no_permit_is_old<W: AnyWord>() {
    let clock = ManualClock::starting_at(10_000);
    let breaker = half_open::<W>(rules(), &clock);
    let probe = breaker.acquire().unwrap();
    clock.step_back(ms(W::GUARD.into()));
    drop(probe);
    assert_eq!(breaker.state(), State::HalfOpen);
}

fn of_several_probes_one_that_is_dropped_old_opens_for_all<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probes(3), &clock);
    let [old, _other, _third] = [(); 3].map(|()| breaker.acquire().unwrap());
    clock.advance(ms(500));
    assert!(breaker.acquire().is_err());
    clock.advance(ms(500));
    drop(old);
    assert_eq!(breaker.state(), State::Open);
}

/// Age is counted from each probe's own admission.
fn a_young_probe_beside_old_ones_has_not_failed<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probes(2), &clock);
    let _old = breaker.acquire().unwrap().into_token();
    clock.advance(ms(5_000));
    drop(breaker.acquire().unwrap());
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.state(), State::HalfOpen);
    assert_eq!(snapshot.probes_in_flight(), 1);
}

fn a_token_is_as_old_as_its_permit<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules(), &clock);
    let token = breaker.acquire().unwrap().into_token();
    clock.advance(ms(1_000));
    let permit = breaker.resume(token);
    let made = permit.cancel().map(|made| made.cause);
    assert_eq!(made, Some(Cause::ProbeCancelled));
}

fn a_permit_of_an_earlier_epoch_is_dropped_without_effect<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let config = rules().slow_call(ms(10)).consecutive_failures(1);
    let breaker = observed::<W>(config, &clock, &diary);
    let permit = breaker.acquire().unwrap();
    breaker.reset();
    let bits = breaker.to_bits();
    clock.advance(ms(5_000));
    assert_eq!(permit.cancel(), None);
    assert_eq!(breaker.to_bits(), bits);
    assert_eq!(diary.cancelled.get(), 1);
}

/// The second and the third line of the example at `call_async`: the second counts the error as a success, the
/// third is right.
#[test]
fn timeouts_belong_inside_and_must_be_errors() {
    type Inner = Result<(), &'static str>;
    let timed_out = || ready(Err::<Inner, _>("too late"));
    let failed = || ready(Ok::<Inner, &str>(Err("no answer")));
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new(), &clock);

    let _ = poll_once(breaker.call_async(timed_out));
    assert_eq!(breaker.snapshot().failures(), 1, "a timeout inside counts");
    let _ = poll_once(breaker.call_async(failed));
    assert_eq!(breaker.snapshot().failures(), 0, "an `Ok` is a success");
    let _ = poll_once(breaker.call_async(async || failed().await?));
    let _ = poll_once(breaker.call_async(async || timed_out().await?));
    assert_eq!(breaker.snapshot().failures(), 2, "one error for both");
}

#[test]
fn with_a_coarse_tick_a_probe_counts_at_its_limit_or_two_ticks_later() {
    for phase in 0..64 {
        for admitted in [0, 1, 33, 63] {
            let clock = ManualClock::starting_at(6_400 + phase);
            let config = Config::new().open_for(ms(0));
            let breaker = Breaker::over(AtomicU32::new(0), config, &clock);
            breaker.trip();
            clock.advance(ms(64 + admitted));
            let probe = breaker.acquire().unwrap();
            clock.advance(ms(249));
            assert_eq!(probe.cancel(), None, "never early");
            let probe = breaker.acquire().unwrap();
            clock.advance(ms(250 + 2 * 64));
            assert!(probe.cancel().is_some(), "at most two ticks late");
        }
    }
}

/// Looks at the breaker when it is notified.
struct Looks<'a, W> {
    word: &'a W,
    seen: Cell<Option<State>>,
    transitions: Cell<u32>,
}

impl<W: AnyWord> Observer for Looks<'_, W> {
    fn transition(&self, _transition: &Transition) {
        assert!(
            self.seen.get().is_some(),
            "first the event, then the transition it caused"
        );
        self.transitions.set(self.transitions.get() + 1);
    }

    fn cancelled(&self) {
        let clock = ManualClock::new();
        self.seen
            .set(Some(Breaker::over(self.word, rules(), &clock).state()));
    }
}

fn a_drop_is_reported_once_the_word_has_changed<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let word = W::fresh();
    let looks = Looks {
        word: &word,
        seen: Cell::new(None),
        transitions: Cell::new(0),
    };
    let config = rules().slow_call(ms(10)).consecutive_failures(1);
    let breaker = Breaker::builder(config, &clock)
        .word(&word)
        .observer(&looks)
        .build();
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(10));
    drop(permit);
    assert_eq!(looks.seen.get(), Some(State::Open));
    assert_eq!(looks.transitions.get(), 1);
}

on_both_words!(
    timeouts_around_hanging_calls_trip_where_slow_calls_are_measured,
    timeouts_around_hanging_calls_do_not_trip_where_slow_calls_are_not_measured,
    a_timeout_around_a_hanging_probe_opens_again,
    a_thousand_permits_dropped_after_ten_seconds_trip,
    a_drop_is_slow_from_the_limit_on_and_not_a_millisecond_before,
    a_slow_drop_counts_in_the_window_and_in_the_ratio,
    a_probe_dropped_at_the_limit_has_failed_and_a_younger_one_has_not,
    with_a_limit_of_zero_every_dropped_probe_has_failed,
    a_probe_dropped_slow_has_failed,
    an_ignored_call_never_counts_however_long_it_took,
    while_the_clock_steps_back_no_permit_is_old,
    of_several_probes_one_that_is_dropped_old_opens_for_all,
    a_young_probe_beside_old_ones_has_not_failed,
    a_token_is_as_old_as_its_permit,
    a_permit_of_an_earlier_epoch_is_dropped_without_effect,
    a_drop_is_reported_once_the_word_has_changed,
);
