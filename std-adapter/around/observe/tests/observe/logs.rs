// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of one breaker.

use atomic_breaker_observe::{Log, Metrics};
use atomic_breaker_server::Guard;
use atomic_breaker_server::{
    AnyPermit, Breaker, Config, ManualClock, OnTransition, Resource, StdClock, Transition,
    word::NativeWord,
};
use std::sync::atomic::{AtomicU32, Ordering};
use tracing::Level;

use crate::support::{RULES, SECOND, logged};

#[test]
fn a_transition_states_the_name_both_states_the_cause_and_the_open_time() {
    let clock = ManualClock::new();
    let events = logged(|| {
        let breaker = Breaker::builder(RULES, &clock)
            .observer(Log::new("payments"))
            .build();
        for _ in 0..2 {
            breaker.acquire().unwrap().failure();
        }
        clock.advance(SECOND * 10);
        breaker.acquire().unwrap().success();
    });
    let of = |field| {
        events
            .iter()
            .map(|event| event.get(field))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("name"), [Some("payments"); 3]);
    assert_eq!(
        of("previous_state"),
        [Some("closed"), Some("open"), Some("half_open")]
    );
    assert_eq!(
        of("state"),
        [Some("open"), Some("half_open"), Some("closed")]
    );
    assert_eq!(
        of("cause"),
        [
            Some("failure_limit"),
            Some("open_time_over"),
            Some("probes_succeeded")
        ]
    );
    assert_eq!(of("open_duration"), [Some("10.0"), None, None]);
    assert_eq!(of("key"), [None; 3]);
    assert_eq!(
        of("message")[0],
        Some("closed -> open: failures reached the limit, for 10s")
    );
    let levels: Vec<_> = events.iter().map(|event| event.level).collect();
    assert_eq!(levels, [Level::WARN, Level::INFO, Level::INFO]);
    assert!(
        events
            .iter()
            .all(|event| event.target == "atomic_breaker::transition")
    );
}

#[test]
fn of_the_rejections_the_first_is_logged_then_one_a_second_and_the_others_are_counted() {
    let clock = ManualClock::new();
    let events = logged(|| {
        let log = Log::new("payments").clock(&clock);
        let breaker = Breaker::builder(RULES, &clock).observer(log).build();
        breaker.trip();
        for _ in 0..25 {
            clock.advance(SECOND / 10);
            assert!(breaker.acquire().is_err());
        }
    });
    let rejections: Vec<_> = events
        .iter()
        .filter(|event| event.target == "atomic_breaker::rejection")
        .collect();
    let left_out: Vec<_> = rejections.iter().map(|event| event.left_out()).collect();
    // At 0.1, 1.1 and 2.1 s; the rest when the log is dropped.
    assert_eq!(left_out, [0, 9, 9, 4]);
    assert_eq!(rejections[0].get("retry_in"), Some("9.9"));
    assert_eq!(rejections[0].get("enforcement"), Some("enforced"));
    assert_eq!(rejections[0].level, Level::INFO);
}

#[test]
fn the_first_rejection_of_each_open_period_is_logged_also_when_the_clock_stands_still() {
    let (clock, standing) = (ManualClock::new(), ManualClock::new());
    let events = logged(|| {
        let log = Log::new("payments").clock(&standing);
        let breaker = Breaker::builder(RULES, &clock).observer(log).build();
        for _ in 0..3 {
            breaker.trip();
            for _ in 0..5 {
                assert!(breaker.acquire().is_err());
            }
            breaker.reset();
        }
    });
    let texts: Vec<_> = events
        .iter()
        .map(|event| (event.get("state").unwrap(), event.target, event.left_out()))
        .collect();
    let period = [
        ("open", "atomic_breaker::transition", 0),
        ("open", "atomic_breaker::rejection", 0),
        ("closed", "atomic_breaker::transition", 4),
    ];
    assert_eq!(texts, [period, period, period].concat());
}

#[test]
fn a_clock_that_steps_back_neither_floods_the_log_nor_loses_a_count() {
    let clock = ManualClock::new();
    clock.advance(SECOND * 100);
    let events = logged(|| {
        let log = Log::new("payments").clock(&clock);
        let breaker = Breaker::builder(Config::new(), StdClock)
            .observer(log)
            .build();
        breaker.force_open();
        assert!(breaker.acquire().is_err());
        clock.set_ms(50_000);
        for _ in 0..10 {
            assert!(breaker.acquire().is_err());
        }
    });
    assert_eq!(events.len(), 3);
    assert_eq!(events[2].left_out(), 10);
}

type Shadowed = Resource<Breaker<StdClock, NativeWord, (), (Log, Metrics)>>;

static SHADOWED: Shadowed = Resource::new(
    Breaker::builder(RULES, StdClock)
        .observer((
            Log::in_static("shadowed").enforcement(|| SHADOWED.enforcement()),
            Metrics::in_static("shadowed").enforcement(|| SHADOWED.enforcement()),
        ))
        .build(),
);

#[test]
fn a_resource_in_shadow_mode_logs_and_counts_what_would_have_been_rejected_as_such() {
    SHADOWED.enforcement().set_percent(0).unwrap();
    let events = logged(|| {
        SHADOWED.breaker().trip();
        assert!(!SHADOWED.acquire().unwrap().is_admitted());
    });
    assert_eq!(events[1].get("enforcement"), Some("shadow"));
    assert_eq!(
        events[1].get("message"),
        Some("would have been rejected, passes in shadow mode")
    );
    let page = crate::support::Page::now();
    let rejections = |mode| page.get("rejections", "shadowed", &[("enforcement", mode)]);
    assert_eq!(rejections("shadow"), Some(1));
    assert_eq!(rejections("enforced"), Some(0));
}

#[test]
fn log_metrics_and_the_users_own_observer_see_the_same_events() {
    let trips = AtomicU32::new(0);
    let own = OnTransition(|_: &Transition| {
        trips.fetch_add(1, Ordering::Relaxed);
    });
    let events = logged(|| {
        let log = Log::new(String::from("paired"));
        let breaker = Breaker::builder(RULES, StdClock)
            .observer(((log, Metrics::new("paired")), own))
            .build();
        breaker.trip();
        let page = crate::support::Page::now();
        assert_eq!(page.transitions("paired", "open", "manual"), Some(1));
    });
    assert_eq!(events.len(), 1);
    assert_eq!(trips.load(Ordering::Relaxed), 1);
}

#[test]
fn nothing_is_counted_for_a_log_without_a_subscriber() {
    let breaker = Breaker::builder(RULES, StdClock)
        .observer(Log::new("payments"))
        .build();
    breaker.trip();
    for _ in 0..10 {
        assert!(breaker.acquire().is_err());
    }
    let events = logged(|| drop(breaker));
    assert!(events.is_empty());
}

#[test]
#[should_panic(expected = "set a shorter one")]
fn an_interval_that_no_clock_can_measure_is_rejected() {
    let _ = Log::new("payments").rejections_every(SECOND * 3_600 * 24 * 30);
}
