// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics of one breaker.

use std::time::Duration;

use atomic_breaker_observe::Metrics;
use atomic_breaker_server::{
    AnyPermit, Breaker, CallError, Cause, Config, Failure, Guard, ManualClock, Observer, Outcome,
    Registry, State, StdClock, Transition, word::NativeWord,
};

use crate::support::{Page, RULES, SECOND, counted};

#[test]
fn every_series_is_there_at_zero_before_anything_happens() {
    let _breaker = counted("idle");
    let page = Page::now();
    for outcome in ["success", "failure", "slow", "ignored", "cancelled"] {
        assert_eq!(page.calls("idle", outcome), Some(0));
    }
    assert_eq!(page.transitions("idle", "open", "failure_limit"), Some(0));
    assert_eq!(page.breakers("idle", "closed"), Some(1));
    assert_eq!(page.breakers("idle", "open"), Some(0));
    let rejections = page.get("rejections", "idle", &[("enforcement", "enforced")]);
    assert_eq!(rejections, Some(0));
}

#[test]
fn a_call_is_counted_by_how_it_ended_and_a_rejection_is_not_a_call() {
    let breaker = counted("counted");
    for _ in 0..5 {
        breaker.call(|| Ok::<_, ()>(())).unwrap();
    }
    breaker.acquire().unwrap().report(Outcome::Ignored);
    drop(breaker.acquire().unwrap());
    for _ in 0..2 {
        let failed = breaker.call(|| Err::<(), _>("no answer"));
        assert_eq!(failed, Err(CallError::Failed("no answer")));
    }
    for _ in 0..3 {
        assert!(breaker.acquire().is_err());
    }
    let page = Page::now();
    let calls = ["success", "failure", "ignored", "cancelled"]
        .map(|outcome| page.calls("counted", outcome).unwrap());
    assert_eq!(calls, [5, 2, 1, 1]);
    let rejections = page.get("rejections", "counted", &[("enforcement", "enforced")]);
    assert_eq!(rejections, Some(3));
}

#[test]
fn a_success_that_was_slow_is_counted_apart_from_other_failures() {
    let clock = ManualClock::new();
    let rules = RULES.slow_call(SECOND);
    let breaker = Breaker::builder(rules, &clock)
        .observer(Metrics::new("slow"))
        .build();
    let hosts = Registry::builder(rules)
        .clock(&clock)
        .observer(Metrics::new("slow-keys"))
        .build()
        .unwrap();
    let begin = || (breaker.acquire().unwrap(), hosts.of("a").acquire().unwrap());
    let (failed, dropped) = (begin(), begin());
    for _ in 0..2 {
        let (permit, of_key) = begin();
        clock.advance(2 * SECOND);
        permit.success();
        of_key.report(Outcome::Success);
    }
    failed.0.failure();
    failed.1.report(Failure::new().into());
    drop(dropped);
    let page = Page::now();
    for name in ["slow", "slow-keys"] {
        let calls = ["success", "failure", "slow", "cancelled"];
        let calls = calls.map(|outcome| page.calls(name, outcome).unwrap());
        assert_eq!(calls, [0, 1, 2, 1], "{name}");
        assert_eq!(page.transitions(name, "open", "failure_limit"), Some(1));
    }
}

#[test]
fn short_open_times_that_no_gauge_shows_are_counted() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RULES, &clock)
        .observer(Metrics::new("short"))
        .build();
    for _ in 0..7 {
        breaker.acquire().unwrap().failure();
        breaker.acquire().unwrap().failure();
        clock.advance(SECOND * 10);
        breaker.acquire().unwrap().success();
    }
    let page = Page::now();
    assert_eq!(page.breakers("short", "open"), Some(0));
    assert_eq!(page.transitions("short", "open", "failure_limit"), Some(7));
    assert_eq!(
        page.transitions("short", "half_open", "open_time_over"),
        Some(7)
    );
    assert_eq!(
        page.transitions("short", "closed", "probes_succeeded"),
        Some(7)
    );
}

#[test]
fn the_gauge_shows_each_state() {
    let clock = ManualClock::new();
    let rules = RULES.gradual_return(10, Duration::from_secs(5));
    let breaker = Breaker::builder(rules, &clock)
        .observer(Metrics::new("gauge"))
        .build();
    let shown = |state| {
        let page = Page::now();
        for (_, other) in STATES {
            let expected = u64::from(state == other);
            assert_eq!(
                page.breakers("gauge", other),
                Some(expected),
                "{state}: {other}"
            );
        }
    };
    shown("closed");
    breaker.trip();
    shown("open");
    clock.advance(SECOND * 10);
    let probe = breaker.acquire().unwrap();
    shown("half_open");
    probe.success();
    shown("returning");
    breaker.force_open();
    shown("forced_open");
    breaker.release();
    breaker.disable();
    shown("disabled");
}

#[test]
fn breakers_of_one_name_are_counted_together_and_leave_no_gauge_behind() {
    let make = || counted("together");
    let (one, other) = (make(), make());
    one.trip();
    other.call(|| Ok::<_, ()>(())).unwrap();
    assert_eq!(Page::now().breakers("together", "open"), Some(1));
    assert_eq!(Page::now().breakers("together", "closed"), Some(1));
    drop((one, other));
    let page = Page::now();
    assert_eq!(page.breakers("together", "open"), Some(0));
    assert_eq!(page.breakers("together", "closed"), Some(0));
    let later = make();
    later.call(|| Ok::<_, ()>(())).unwrap();
    later.trip();
    let page = Page::now();
    assert_eq!(page.calls("together", "success"), Some(2));
    assert_eq!(page.transitions("together", "open", "manual"), Some(2));
}

static STATIC: Breaker<StdClock, NativeWord, (), Metrics> =
    Breaker::builder(Config::new(), StdClock)
        .observer(Metrics::in_static("static"))
        .build();

#[test]
fn a_static_breaker_is_published_once_it_is_registered_or_called() {
    assert_eq!(Page::now().calls("static", "success"), None);
    STATIC.observer().register();
    assert_eq!(Page::now().calls("static", "success"), Some(0));
    STATIC.call(|| Ok::<_, ()>(())).unwrap();
    assert_eq!(Page::now().calls("static", "success"), Some(1));
}

#[test]
fn a_name_breaks_no_line_of_the_page() {
    let breaker = counted("na\nme \"quoted\" \u{1b}[0m");
    breaker.trip();
    let page = Page::now();
    let lines: Vec<_> = page
        .0
        .lines()
        .filter(|line| line.contains("na\\"))
        .collect();
    assert!(!lines.is_empty());
    for line in lines {
        assert!(
            line.contains(r#"circuit_breaker_name="na\\nme \"quoted\" \\u{1b}[0m""#),
            "{line}"
        );
    }
}

const STATES: [(State, &str); 6] = [
    (State::Closed, "closed"),
    (State::Open, "open"),
    (State::HalfOpen, "half_open"),
    (State::Returning, "returning"),
    (State::ForcedOpen, "forced_open"),
    (State::Disabled, "disabled"),
];

const CAUSES: [(Cause, &str); 14] = [
    (Cause::FailureLimit, "failure_limit"),
    (Cause::FailureRatio, "failure_ratio"),
    (Cause::SlowRatio, "slow_ratio"),
    (Cause::TripDemanded, "trip_demanded"),
    (Cause::RetryAfter, "retry_after"),
    (Cause::OpenTimeOver, "open_time_over"),
    (Cause::ProbeFailed, "probe_failed"),
    (Cause::ProbeCancelled, "probe_cancelled"),
    (Cause::ProbeLost, "probe_lost"),
    (Cause::ProbesSucceeded, "probes_succeeded"),
    (Cause::TrafficReturned, "traffic_returned"),
    (Cause::Manual, "manual"),
    (Cause::Restored, "restored"),
    (Cause::CorruptWord, "corrupt_word"),
];

#[test]
fn each_state_and_each_cause_has_a_label_of_its_own() {
    assert_eq!(STATES.map(|(state, _)| state), State::ALL);
    assert_eq!(CAUSES.map(|(cause, _)| cause), Cause::ALL);
    let metrics: Metrics = Metrics::new("labels");
    for (state, _) in STATES {
        for (cause, _) in CAUSES {
            metrics.transition(&Transition::new(State::Closed, state, cause));
        }
    }
    let page = Page::now();
    for (_, state) in STATES {
        for (_, cause) in CAUSES {
            let count = page.transitions("labels", state, cause);
            assert_eq!(count, Some(1), "{state} by {cause}");
        }
    }
}
