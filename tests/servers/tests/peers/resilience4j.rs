// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of resilience4j: circuit breaker.

use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Failure, Outcome, Ratio, State};
use atomic_breaker_server::{LastCalls, ManualClock, Rejected, SlidingRatio, Transition};

use crate::support::{Diary, Event, MS, RULES, SECOND, just_before, play};

/// Half of the last five calls, as in most of its tests; four probes.
pub(crate) const RING: Config = Config::new()
    .tally_only()
    .failure_ratio(Ratio::percent(50).of_last(5).min_calls(5))
    .open_for(Duration::from_secs(5))
    .probes(4);

pub(crate) type Ring<'a, O = ()> =
    Breaker<&'a ManualClock, atomic_breaker_server::word::NativeWord, LastCalls, O>;

pub(crate) fn ring(rules: Config, clock: &ManualClock) -> Ring<'_> {
    Breaker::builder(rules, clock)
        .last_calls(LastCalls::new())
        .build()
}

/// Half-open, before the first call.
pub(crate) fn half_open(rules: Config, clock: &ManualClock) -> Ring<'_> {
    let ring = ring(rules, clock);
    ring.trip();
    ring.probe_now();
    assert_eq!(ring.state(), State::HalfOpen);
    ring
}

/// resilience4j: the message of a rejection names the state. Here it also says how long to wait.
#[test]
fn a_rejection_names_the_state_and_the_time() {
    for (state, message) in [
        (State::Open, "circuit breaker is open, retry in 5s"),
        (
            State::HalfOpen,
            "circuit breaker is half-open: a probe is under way, retry soon, in 5s at the latest",
        ),
        (
            State::ForcedOpen,
            "circuit breaker is forced open, until it is released",
        ),
    ] {
        assert_eq!(Rejected::new(state, 5 * SECOND).to_string(), message);
    }
}

/// resilience4j, configuration: zeros and percentages above one hundred are illegal. Here an open time of zero is
/// legal: the next call is a probe.
#[test]
fn settings_out_of_range_are_errors() {
    let build = |rules: Config| {
        Breaker::builder(rules, ManualClock::new())
            .last_calls(LastCalls::new())
            .try_build()
    };
    let ratio = |ratio| Config::new().failure_ratio(ratio);
    for bad in [
        Config::new().consecutive_failures(0),
        Config::new().slow_call(Duration::ZERO),
        Config::new().probes(0),
        Config::new().probe_lease(Duration::ZERO),
        Config::new().failures_within(2, Duration::ZERO),
        ratio(Ratio::percent(50).of_last(0)),
        ratio(Ratio::percent(50).of_last(5).min_calls(0)),
        ratio(Ratio::percent(0)),
        ratio(Ratio::percent(101)),
        Config::new().tally_only(),
    ] {
        let error = build(bad).unwrap_err();
        assert!(!error.to_string().is_empty(), "{bad:?}");
    }
    let breaker = build(RULES.open_for(Duration::ZERO)).unwrap();
    assert_eq!(play(&breaker, "xx."), State::Closed);
}

/// resilience4j: opens once the ring is full and the failure rate is reached, and not before. There a success that
/// fills the ring opens it, too; here the next failure does.
#[test]
fn it_opens_by_a_failure_when_the_ring_is_full() {
    let clock = ManualClock::new();
    for (calls, state) in [
        ("xxxx", State::Closed),
        ("xxxxxr", State::Open),
        ("..xxxr", State::Open),
        ("xxx..", State::Closed),
        ("xxx..x", State::Open),
        ("...xx", State::Closed),
        // The oldest call leaves the ring.
        ("xxx.....xx", State::Closed),
        ("xxx.....xxx", State::Open),
    ] {
        assert_eq!(play(&ring(RING, &clock), calls), state, "{calls}");
    }
}

/// resilience4j: a time window drops its seconds one after the other. Here it drops eighths of the window.
#[test]
fn a_window_of_time_loses_its_slices_one_after_the_other() {
    let clock = ManualClock::new();
    let lately = Ratio::percent(50).within(8 * SECOND).min_calls(10);
    let rules = Config::new().tally_only().failure_ratio(lately);
    let breaker = Breaker::builder(rules, &clock)
        .tally(SlidingRatio::<_, 1>::by(&clock))
        .build();
    for seen in 1..=8 {
        assert_eq!(play(&breaker, "."), State::Closed);
        assert_eq!(breaker.tally().seen_and_failed(), (seen, 0));
        clock.advance(SECOND);
    }
    for seen in (0..=7).rev() {
        assert_eq!(breaker.tally().seen_and_failed(), (seen, 0));
        clock.advance(SECOND);
    }
}

/// resilience4j: slow calls open it, at their own rate. Here a slow call is a failure.
#[test]
fn slow_calls_open_it_in_the_ring_and_half_open() {
    let clock = ManualClock::new();
    let call = |breaker: &Ring<'_>, takes: Duration| {
        let permit = breaker.acquire().unwrap();
        clock.advance(takes);
        permit.success();
        breaker.state()
    };
    let closed = ring(RING.slow_call(2 * SECOND), &clock);
    for (takes, state) in [
        (5 * SECOND, State::Closed),
        (2 * SECOND, State::Closed),
        (just_before(2 * SECOND), State::Closed),
        (Duration::ZERO, State::Closed),
        (5 * SECOND, State::Open),
    ] {
        assert_eq!(call(&closed, takes), state, "{takes:?}");
    }
    let half_open = half_open(RING.slow_call(2 * SECOND), &clock);
    assert_eq!(call(&half_open, MS), State::HalfOpen);
    assert_eq!(call(&half_open, 5 * SECOND), State::Open);
}

/// resilience4j: permits calls after the wait, of seconds or hours, and not a moment sooner; the metrics start over.
#[test]
fn it_permits_calls_again_after_the_wait_with_nothing_counted() {
    for wait in [5 * SECOND, 7_200 * SECOND] {
        let clock = ManualClock::new();
        let breaker = ring(RING.open_for(wait).probes(1), &clock);
        assert_eq!(play(&breaker, "xxxxxr"), State::Open);
        clock.advance(just_before(wait));
        assert_eq!(play(&breaker, "r"), State::Open);
        clock.advance(MS);
        assert_eq!(play(&breaker, "."), State::Closed);
        assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    }
}

/// resilience4j: a function returns the wait of each attempt, 1.5 times as long each time.
#[test]
fn the_wait_may_grow_by_a_fraction() {
    let clock = ManualClock::new();
    let rules = RING.exponential_percent(150, 60 * SECOND);
    let breaker = ring(rules, &clock);
    for wait in [5_000, 7_500, 11_250] {
        breaker
            .acquire()
            .map(|probe| probe.report(Failure::tripping()))
            .unwrap();
        assert_eq!(breaker.snapshot().retry_in(), Some(wait * MS));
        clock.advance(wait * MS);
    }
}

/// resilience4j: permits four calls half-open and rejects the fifth; a call that is released gives its slot back.
#[test]
fn half_open_permits_as_many_calls_as_set_and_a_released_one_counts_no_more() {
    let clock = ManualClock::new();
    let breaker = half_open(RING, &clock);
    let mut permits: Vec<_> = (0..4).map(|_| breaker.acquire().unwrap()).collect();
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.state(), State::HalfOpen);
    permits.pop().unwrap().cancel();
    permits.push(breaker.acquire().unwrap());
    assert!(breaker.acquire().is_err());
    for permit in permits {
        permit.success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

/// resilience4j: half-open, the failure rate of the permitted calls decides: one failure of four closes it there. Here
/// one failed probe opens it at once, because the resource is not healthy, and probes are users' calls.
#[test]
fn one_failed_probe_opens_it_again() {
    for (calls, state) in [
        ("xr", State::Open),
        (".xr", State::Open),
        ("...xr", State::Open),
        ("...", State::HalfOpen),
        ("....", State::Closed),
        ("....xxxx", State::Closed),
    ] {
        let clock = ManualClock::new();
        assert_eq!(play(&half_open(RING, &clock), calls), state, "{calls}");
    }
}

/// resilience4j: ignored errors release their permission, and the other calls close the breaker.
#[test]
fn ignored_errors_give_their_slot_back_half_open() {
    let clock = ManualClock::new();
    let breaker = half_open(RING, &clock);
    assert_eq!(play(&breaker, "..."), State::HalfOpen);
    for _ in 0..10 {
        breaker.acquire().unwrap().report(Outcome::Ignored);
        assert_eq!(breaker.state(), State::HalfOpen);
        assert_eq!(breaker.snapshot().successes(), 3);
    }
    assert_eq!(play(&breaker, "."), State::Closed);
}

/// resilience4j: if half-open lasts too long, the breaker goes to a configured state. Here the calls are presumed lost
/// after their lease, the next ones are admitted one after the other, and none of the lost ones counts.
#[test]
fn half_open_for_too_long_begins_a_new_round() {
    let clock = ManualClock::new();
    let breaker = half_open(RING.probe_lease(10 * SECOND), &clock);
    let lost: Vec<_> = (0..4).map(|_| breaker.acquire().unwrap()).collect();
    clock.advance(10 * SECOND);
    let probe = breaker.acquire().unwrap();
    assert_eq!(breaker.snapshot().lost_rounds(), 1);
    for late in lost {
        assert_eq!(late.failure(), None);
    }
    probe.success();
    assert_eq!(play(&breaker, "..."), State::Closed);
}

/// resilience4j: there is no transition from closed to half-open. Commands that do not apply change nothing here, and
/// say so.
#[test]
fn commands_that_do_not_apply_change_nothing() {
    let clock = ManualClock::new();
    let breaker = ring(RING, &clock);
    for command in [
        Ring::probe_now,
        Ring::probe_early,
        Ring::release,
        Ring::enable,
    ] {
        assert_eq!(command(&breaker), None);
        assert_eq!(breaker.state(), State::Closed);
    }
}

/// resilience4j: each state may be entered again. Here closed, open and half-open start again; a state that an operator
/// has already set is no transition.
#[test]
fn a_state_that_is_entered_again_starts_from_zero() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    let to = |made: Option<Transition>| made.map(|made| (made.from, made.to));
    play(&breaker, "x");
    assert_eq!(to(breaker.reset()), Some((State::Closed, State::Closed)));
    assert_eq!(play(&breaker, "x"), State::Closed, "counts from zero");
    breaker.trip();
    clock.advance(9 * SECOND);
    assert_eq!(to(breaker.trip()), Some((State::Open, State::Open)));
    assert_eq!(breaker.snapshot().retry_in(), Some(10 * SECOND));
    breaker.probe_now();
    let _probe = breaker.acquire().unwrap();
    assert_eq!(
        to(breaker.probe_now()),
        Some((State::HalfOpen, State::HalfOpen))
    );
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    breaker.force_open();
    assert_eq!(to(breaker.force_open()), None);
    breaker.reset();
    breaker.disable();
    assert_eq!(to(breaker.disable()), None);
}

/// resilience4j: reset clears the metrics from any state.
#[test]
fn reset_closes_and_clears_from_every_state() {
    let clock = ManualClock::new();
    for enter in [Ring::trip, Ring::force_open, Ring::disable, Ring::reset] {
        let breaker = ring(RING, &clock);
        play(&breaker, "x.x");
        assert_eq!(breaker.tally().seen_and_failed(), (3, 2));
        enter(&breaker);
        breaker.reset();
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    }
}

/// resilience4j: while disabled, every call passes, nothing is counted and no event is published. Here the observer
/// still sees the outcomes.
#[test]
fn while_disabled_all_calls_pass_and_nothing_is_counted() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RING, &clock)
        .last_calls(LastCalls::new())
        .observer(Diary::default())
        .build();
    breaker.disable();
    breaker.observer().read();
    assert_eq!(play(&breaker, "xxxxxxxxxx."), State::Disabled);
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    assert_eq!(breaker.snapshot().failures(), 0);
    let seen = breaker.observer().read();
    assert_eq!((seen.len(), seen[10]), (11, Event::Succeeded));
}
