// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of Polly v8: circuit breaker.

use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Failure, Guard, Outcome, Ratio, State};
use atomic_breaker_server::{
    AnyPermit, CallError, Cause, Control, ManualClock, Resource, SlidingRatio, Wait,
};
use atomic_breaker_tower::BreakerLayer;
use tokio::time::timeout;
use tower::{Layer, ServiceExt};

use crate::support::{Ask, MS, RULES, SECOND, Server, breaker, just_before, play};

type Sliding<'a> = Breaker<
    &'a ManualClock,
    atomic_breaker_server::word::NativeWord,
    SlidingRatio<&'a ManualClock, 1>,
>;

/// A ratio of failures over 30 s, as in Polly's breaker.
fn sliding(clock: &ManualClock, percent: u32, min_calls: u32) -> Sliding<'_> {
    let ratio = Ratio::percent(percent)
        .within(30 * SECOND)
        .min_calls(min_calls);
    Breaker::builder(Config::new().tally_only().failure_ratio(ratio), clock)
        .tally(SlidingRatio::by(clock))
        .build()
}

/// Polly, circuit behaviour: breaks at exactly the ratio, once exactly the minimum throughput is reached.
#[test]
fn it_trips_at_the_ratio_once_the_minimum_of_calls_is_reached() {
    let clock = ManualClock::new();
    for (percent, min_calls, calls, state) in [
        (10, 10, "..........", State::Closed),
        (10, 10, ".........x", State::Open),
        (10, 10, "........xx", State::Open),
        (10, 10, ".........xr", State::Open),
        (10, 10, "........x", State::Closed),
        (20, 10, ".........x", State::Closed),
        (100, 2, "xx", State::Open),
        (100, 2, "x.xxx", State::Closed),
    ] {
        let breaker = sliding(&clock, percent, min_calls);
        assert_eq!(play(&breaker, calls), state, "{percent} %: {calls}");
    }
}

/// Polly, health metrics: calls leave the sampling duration, and a duration without calls clears everything.
#[test]
fn calls_leave_the_window() {
    let clock = ManualClock::new();
    let breaker = sliding(&clock, 50, 4);
    assert_eq!(play(&breaker, "xxx"), State::Closed);
    clock.advance(29 * SECOND);
    assert_eq!(breaker.tally().seen_and_failed(), (3, 3));
    clock.advance(5 * SECOND);
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    assert_eq!(play(&breaker, "...x"), State::Closed);
    clock.advance(15 * SECOND);
    assert_eq!(play(&breaker, ".."), State::Closed);
    clock.advance(20 * SECOND);
    assert_eq!(breaker.tally().seen_and_failed(), (2, 0), "a part of it");
}

/// Polly: closing resets the health metrics.
#[test]
fn closing_forgets_what_was_counted() {
    let clock = ManualClock::new();
    let breaker = sliding(&clock, 50, 4);
    assert_eq!(play(&breaker, "xxxx"), State::Open);
    clock.advance(5 * SECOND);
    assert_eq!(play(&breaker, ".xxx"), State::Closed);
    assert_eq!(play(&breaker, "xr"), State::Open);
}

/// Polly: failures and successes reported while the circuit is open, isolated or half-open. Polly counts a late failure
/// of a broken circuit; here a report of an earlier epoch changes nothing, because it says nothing about the resource
/// now.
#[test]
fn late_reports_change_nothing() {
    let clock = ManualClock::new();
    for success in [true, false] {
        let breaker = Breaker::new(RULES.consecutive_failures(1), &clock);
        let late = [(); 4].map(|()| breaker.acquire().unwrap());
        let mut late = late.into_iter();
        let mut report = |state| {
            let permit = late.next().unwrap();
            let made = if success {
                permit.success()
            } else {
                permit.failure()
            };
            assert_eq!((made, breaker.state()), (None, state));
        };
        breaker.force_open();
        report(State::ForcedOpen);
        breaker.reset();
        assert_eq!(play(&breaker, "x"), State::Open);
        report(State::Open);
        clock.advance(10 * SECOND);
        let probe = breaker.acquire().unwrap();
        report(State::HalfOpen);
        probe.success();
        report(State::Closed);
        assert_eq!(breaker.snapshot().failures(), 0);
    }
}

/// Polly: open for exactly the break duration, and each rejection states the remaining time; then one call passes.
#[test]
fn it_is_open_for_exactly_its_time_and_states_how_much_is_left() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    assert_eq!(play(&breaker, "xx"), State::Open);
    clock.advance(MS);
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.wait(), Wait::For(just_before(10 * SECOND)));
    clock.advance(just_before(just_before(10 * SECOND)));
    assert_eq!(breaker.acquire().unwrap_err().retry_in(), Some(MS));
    clock.advance(MS);
    let probe = breaker.acquire().unwrap();
    assert!(probe.is_probe());
    assert_eq!(play(&breaker, "r"), State::HalfOpen);
}

/// Polly: a half-open circuit lets another call pass after the break duration if the first one did not report. Here
/// this time is a separate setting, the lease, and the late report of the lost probe changes nothing.
#[test]
fn a_probe_that_never_reports_lets_another_one_pass_after_its_lease() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES.probe_lease(30 * SECOND), &clock);
    breaker.trip();
    clock.advance(10 * SECOND);
    let lost = breaker.acquire().unwrap();
    clock.advance(just_before(30 * SECOND));
    assert_eq!(play(&breaker, "r"), State::HalfOpen);
    clock.advance(MS);
    let probe = breaker.acquire().unwrap();
    assert_eq!(lost.failure(), None);
    assert_eq!(probe.success().unwrap().to, State::Closed);
}

/// Polly: after a half-open call the circuit is closed or open, depending on the result. An outcome that is not handled
/// closes there; here the classifier decides: `Success` closes, `Ignored` is not counted and lets the next call probe.
#[test]
fn a_probe_closes_or_opens_depending_on_its_result() {
    let clock = ManualClock::new();
    for (outcome, state) in [
        (Outcome::Success, State::Closed),
        (Failure::new().into(), State::Open),
        (Outcome::Ignored, State::HalfOpen),
    ] {
        let breaker = Breaker::new(RULES, &clock);
        breaker.trip();
        clock.advance(10 * SECOND);
        breaker.acquire().unwrap().report(outcome);
        assert_eq!(breaker.state(), state);
        assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    }
}

/// Polly, whole flows: closed, half-open, open, half-open, closed; each transition is reported once, with its cause.
#[test]
fn the_whole_flow_is_reported_with_its_causes() {
    let clock = ManualClock::new();
    let made = Mutex::new(Vec::new());
    let log = |transition: &atomic_breaker_server::Transition| {
        made.lock().unwrap().push((transition.to, transition.cause));
    };
    let breaker = Breaker::builder(RULES, &clock).on_transition(log).build();
    play(&breaker, "xxr");
    clock.advance(10 * SECOND);
    play(&breaker, "xr");
    clock.advance(10 * SECOND);
    play(&breaker, "..");
    assert_eq!(
        *made.lock().unwrap(),
        [
            (State::Open, Cause::FailureLimit),
            (State::HalfOpen, Cause::OpenTimeOver),
            (State::Open, Cause::ProbeFailed),
            (State::HalfOpen, Cause::OpenTimeOver),
            (State::Closed, Cause::ProbesSucceeded),
        ]
    );
}

/// Polly: the rejection carries the exception that broke the circuit. Here it carries the text of the last failure if a
/// report had one, and never that of an earlier trip.
#[test]
fn a_rejection_names_the_failure_that_opened_it() {
    let clock = ManualClock::new();
    let resource = Resource::new(Breaker::new(RULES.consecutive_failures(1), &clock));
    let because = |words: &str| {
        let permit = resource.acquire().unwrap();
        permit.report_because(Failure::new().into(), || words.to_owned());
        resource.acquire().unwrap_err()
    };
    let rejection = because("503 Service Unavailable");
    assert_eq!(rejection.retry_in(), Some(10 * SECOND));
    assert_eq!(
        &*rejection.last_failure.unwrap().text,
        "503 Service Unavailable"
    );
    clock.advance(10 * SECOND);
    resource.acquire().unwrap().report(Failure::new().into());
    assert!(resource.acquire().unwrap_err().last_failure.is_none());
}

/// Polly, manual control: isolates several breakers at once, even before their first call, for any length of time;
/// rejections then state no time.
#[test]
fn a_manual_control_isolates_several_breakers_until_it_closes_them() {
    let clock = ManualClock::new();
    let breakers = [(); 2].map(|()| Breaker::new(RULES, &clock));
    let control = breakers.each_ref().map(|breaker| breaker as &dyn Control);
    for breaker in control {
        breaker.force_open();
    }
    clock.advance(3_600 * SECOND);
    for breaker in &breakers {
        let rejected = breaker.acquire().unwrap_err();
        assert_eq!(
            (rejected.wait(), rejected.retry_in()),
            (Wait::UntilReleased, None)
        );
    }
    for breaker in control {
        breaker.reset();
    }
    for breaker in &breakers {
        assert_eq!(play(breaker, "."), State::Closed);
    }
}

/// Polly: a generator gets the number of half-open attempts and returns the break duration. Here growth is a setting;
/// it is forgotten once calls have passed for as long as it was open.
#[test]
fn the_open_time_grows_with_each_trip_until_calls_pass_for_as_long() {
    let clock = ManualClock::new();
    let rules = RULES
        .consecutive_failures(1)
        .open_for(SECOND)
        .exponential(2, 5 * SECOND);
    let breaker = Breaker::new(rules, &clock);
    let mut times = Vec::new();
    for calls in ["x", "x", "x", "x", ".x", "x"] {
        play(&breaker, calls);
        let open_for = breaker.snapshot().retry_in().unwrap();
        times.push(open_for.as_secs());
        clock.advance(open_for);
    }
    // It has just closed, and fails at once: nothing is forgotten yet.
    assert_eq!(times, [1, 2, 4, 5, 5, 5]);
}

/// Polly: a break duration that would overflow is clamped to the maximum time. Here it is an error at build time, and
/// the clock may wrap meanwhile.
#[test]
fn an_open_time_that_cannot_be_held_is_an_error_and_the_clock_may_wrap() {
    let clock = ManualClock::starting_at(u32::MAX - 5);
    assert!(Breaker::try_new(RULES.open_for(Duration::MAX), &clock).is_err());
    let breaker = Breaker::new(RULES, &clock);
    play(&breaker, "xx");
    clock.advance(just_before(10 * SECOND));
    assert_eq!(play(&breaker, "r"), State::Open);
    clock.advance(MS);
    assert_eq!(play(&breaker, "."), State::Closed);
}

/// Polly: handled results and exceptions count as failures; everything else is a success.
#[test]
fn the_classifier_says_which_results_and_errors_are_failures() {
    let handled = |result: &Result<u16, &'static str>| match result {
        Ok(99) | Err("handled") => Failure::new().into(),
        _ => Outcome::Success,
    };
    for (result, failures) in [
        (Ok(99), 2),
        (Err("handled"), 2),
        (Ok(1), 0),
        (Err("not handled"), 0),
    ] {
        let breaker = Breaker::new(RULES, ManualClock::new());
        let _ = breaker.call_with(handled, || Err("handled"));
        let answer = breaker.call_with(handled, || result);
        assert_eq!(
            answer,
            result.map_err(CallError::Failed),
            "handed on as it is"
        );
        let is_open = breaker.state() == State::Open;
        assert_eq!(
            (is_open, breaker.snapshot().failures() == 0),
            (failures == 2, true)
        );
    }
}

/// Polly: a cancelled execution is not handled by default. Here any number of cancelled calls is neutral while closed.
#[tokio::test(start_paused = true)]
async fn a_call_that_its_caller_drops_is_not_counted() {
    let (breaker, server) = (breaker(RULES), Server::default());
    let guarded = BreakerLayer::new(breaker).layer(server.clone());
    for _ in 0..10 {
        let request = guarded.clone().oneshot(Ask::Hang);
        assert!(timeout(SECOND, request).await.is_err());
    }
    assert_eq!((server.calls(), breaker.state()), (10, State::Closed));
    assert_eq!(breaker.snapshot().failures(), 0);
}
