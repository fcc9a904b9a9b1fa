// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of tower-resilience-circuitbreaker 0.14: trips, handles and errors.

use std::io;
use std::sync::Arc;

use atomic_breaker_http::{Breaker, Config, Failure, Outcome, Ratio, State};
use atomic_breaker_server::{CallError, Cause, Control, LastCalls, ManualClock, SlidingRatio};
use atomic_breaker_tower::BreakerLayer;
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{Ask, Diary, Event, MS, RULES, SECOND, Server, breaker, play};

/// tower-resilience: the failure rate trips once the window holds enough calls, whichever call filled it. Here only a
/// failure trips, for the last calls as well as within a time: a successful call never makes the service unavailable.
#[test]
fn the_ratio_of_failures_trips_at_a_failure_once_there_are_enough_calls() {
    let clock = ManualClock::new();
    let share = Ratio::percent(50);
    let last = Config::new()
        .tally_only()
        .failure_ratio(share.of_last(4).min_calls(4));
    let within = Config::new()
        .tally_only()
        .failure_ratio(share.within(SECOND).min_calls(4));
    for (calls, state) in [
        ("xxx", State::Closed),
        ("xx..", State::Closed),
        ("..xx", State::Open),
        ("xx..xr", State::Open),
        ("...x", State::Closed),
    ] {
        let by_calls = Breaker::builder(last, &clock)
            .last_calls(LastCalls::new())
            .build();
        assert_eq!(play(&by_calls, calls), state, "{calls}");
        let by_time = Breaker::builder(within, &clock)
            .tally(SlidingRatio::<_, 1>::by(&clock))
            .build();
        assert_eq!(play(&by_time, calls), state, "{calls}");
    }
}

/// tower-resilience: consecutive failures trip whatever the window holds, and the window applies otherwise.
#[test]
fn failures_in_a_row_trip_independently_of_the_ratio() {
    let clock = ManualClock::new();
    let ratio = Ratio::percent(50).of_last(50).min_calls(50);
    let rules = Config::new().consecutive_failures(3).failure_ratio(ratio);
    let breaker = Breaker::builder(rules, &clock)
        .last_calls(LastCalls::new())
        .build();
    assert_eq!(play(&breaker, ".xx"), State::Closed);
    assert_eq!(play(&breaker, ".xx"), State::Closed);
    assert_eq!(play(&breaker, "xr"), State::Open);
}

/// tower-resilience: slow calls trip without a single error, at their own rate. Here they are failures, so slow calls
/// and errors add up.
#[tokio::test(start_paused = true)]
async fn slow_calls_trip_though_all_succeed() {
    let (breaker, server) = (breaker(RULES.slow_call(20 * MS)), Server::default());
    let guarded = BreakerLayer::new(breaker).layer(server);
    for (takes, state) in [(40 * MS, State::Closed), (19 * MS, State::Closed)] {
        let answer = guarded.clone().oneshot(Ask::Take(takes)).await;
        assert_eq!((answer.unwrap(), breaker.state()), (200, state));
    }
    for (ask, state) in [
        (Ask::Fail, State::Closed),
        (Ask::Take(40 * MS), State::Open),
    ] {
        let _ = guarded.clone().oneshot(ask).await;
        assert_eq!(breaker.state(), state);
    }
}

/// tower-resilience: invalid settings are rejected at build time, and the smallest valid ones are accepted.
#[test]
fn invalid_settings_are_errors_at_build_time() {
    let build = |ratio: Ratio| {
        Breaker::builder(Config::new().failure_ratio(ratio), ManualClock::new())
            .last_calls(LastCalls::new())
            .try_build()
    };
    let half = Ratio::percent(50);
    for bad in [
        half.of_last(0),
        half.of_last(4).min_calls(0),
        half.of_last(4).min_calls(5),
        Ratio::percent(0),
        Ratio::percent(101),
        half.within(SECOND),
    ] {
        assert!(build(bad).is_err(), "{bad:?}");
    }
    for good in [half.of_last(1), Ratio::percent(1), Ratio::percent(100)] {
        assert!(build(good).is_ok(), "{good:?}");
    }
    let failures = |failures| {
        Breaker::try_new(
            Config::new().consecutive_failures(failures),
            ManualClock::new(),
        )
    };
    assert!(failures(0).is_err() && failures(1).is_ok());
}

/// tower-resilience: a handle sees the state at once, forces it, and clears the counts.
#[test]
fn a_handle_sees_and_commands_at_once() {
    let breaker = Breaker::new(RULES, ManualClock::new());
    let handle: &dyn Control = &breaker;
    assert_eq!(handle.state(), State::Closed);
    assert_eq!(play(&breaker, "x"), State::Closed);
    assert_eq!(handle.snapshot().failures(), 1);
    handle.reset();
    assert_eq!(
        (handle.snapshot().failures(), handle.state()),
        (0, State::Closed)
    );
    handle.force_open();
    assert_eq!(play(&breaker, "r"), State::ForcedOpen);
    handle.reset();
    assert_eq!(play(&breaker, "."), State::Closed);
    assert_eq!(play(&breaker, "xx"), State::Open);
}

/// tower-resilience: forcing it open publishes the transition of an automatic trip. Here forced open is a separate
/// state, and the cause says who made it, because no time ends it.
#[test]
fn forced_open_is_a_state_of_its_own_that_no_time_ends() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    let made = breaker.force_open().unwrap();
    assert_eq!((made.to, made.cause), (State::ForcedOpen, Cause::Manual));
    clock.advance(3_600 * SECOND);
    assert_eq!(play(&breaker, "r"), State::ForcedOpen);
    // As a health check does: opens for a while, and closes when the check passes.
    breaker.reset();
    let made = breaker.trip().unwrap();
    assert_eq!((made.to, made.cause), (State::Open, Cause::Manual));
    clock.advance(10 * SECOND);
    assert_eq!(play(&breaker, "."), State::Closed);
}

/// tower-resilience, manual mode: failures do not trip, and the operator still forces and resets.
#[test]
fn while_disabled_it_does_not_trip_and_can_still_be_forced() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    breaker.disable();
    assert_eq!(play(&breaker, "xxxxx"), State::Disabled);
    breaker.force_open();
    clock.advance(3_600 * SECOND);
    assert_eq!(play(&breaker, "r"), State::ForcedOpen);
    breaker.release();
    assert_eq!(play(&breaker, "xx"), State::Disabled);
    breaker.reset();
    assert_eq!(play(&breaker, "xxr"), State::Open);
}

/// tower-resilience: events report successes, failures, rejections and transitions, each once.
#[test]
fn observers_are_notified_of_each_event_once() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RULES, &clock)
        .observer(Diary::default())
        .build();
    play(&breaker, ".xxr");
    assert_eq!(
        breaker.observer().read(),
        [
            Event::Succeeded,
            Event::Failed,
            Event::Failed,
            Event::Changed(State::Closed, State::Open),
            Event::Rejected(State::Open),
        ]
    );
}

/// tower-resilience: a classifier decides what trips; one classifier serves responses of two types.
#[tokio::test(start_paused = true)]
async fn one_classifier_serves_two_types_of_responses() {
    fn empty<T: AsRef<[u8]>>(result: &Result<T, io::Error>) -> Outcome {
        match result {
            Ok(body) if !body.as_ref().is_empty() => Outcome::Success,
            _ => Failure::new().into(),
        }
    }
    let breaker = breaker(RULES);
    let texts = BreakerLayer::new(breaker)
        .classify(empty::<String>)
        .layer(service_fn(|text: &'static str| async move {
            Ok(text.to_owned())
        }));
    let bytes = BreakerLayer::new(breaker)
        .classify(empty::<Vec<u8>>)
        .layer(service_fn(|bytes: &'static [u8]| async move {
            Ok(bytes.to_vec())
        }));
    assert!(texts.oneshot("full").await.is_ok());
    assert!(texts.oneshot("").await.is_ok());
    assert!(bytes.oneshot(&[]).await.is_ok());
    assert_eq!(breaker.state(), State::Open);
    sleep(10 * SECOND).await;
    assert!(texts.oneshot("full").await.is_ok());
    assert_eq!(breaker.state(), State::Closed);
}

/// tower-resilience: errors say whether the circuit was open, and contain the service's own error.
#[test]
fn errors_say_whether_it_was_rejected_or_failed() {
    let breaker = Arc::new(Breaker::new(
        RULES.consecutive_failures(1),
        ManualClock::new(),
    ));
    let failed = breaker.call(|| Err::<(), _>("no answer")).unwrap_err();
    assert!(failed.rejected().is_none());
    assert_eq!(failed.failed(), Some("no answer"));
    let rejected = breaker.call(|| Err::<(), _>("not made")).unwrap_err();
    assert!(matches!(rejected, CallError::Rejected(_)));
    assert!(rejected.rejected().is_some() && rejected.failed().is_none());
}

/// tower-resilience: the service inside is accessible.
#[test]
fn the_service_inside_can_be_reached() {
    let server = Server::default();
    let mut guarded = BreakerLayer::new(breaker(RULES)).layer(server);
    assert_eq!(guarded.get_ref().calls(), 0);
    guarded.get_mut().set_ready();
    assert_eq!(guarded.into_inner().calls(), 0);
}
