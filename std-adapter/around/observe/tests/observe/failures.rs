// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of calls that failed, and of each call.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use atomic_breaker_observe::{Log, LogSuccesses};
use atomic_breaker_server::{
    AnyPermit, Breaker, Config, FailedCall, Failure, Guard, KeyedObserver, ManualClock, Outcome,
    Registry, Resource, StdClock, word::NativeWord,
};
use tracing::Level;

use crate::support::{RULES, SECOND, logged, logged_if, of_calls, of_failures};

/// Never trips.
pub(crate) const LENIENT: Config = Config::new().consecutive_failures(60_000);

type Logs<'a> = Registry<&'static str, &'a ManualClock, (), Log<&'a ManualClock>>;

pub(crate) fn hosts(clock: &ManualClock, rules: Config) -> Logs<'_> {
    Registry::builder(rules)
        .clock(clock)
        .observer(Log::new("hosts").clock(clock))
        .build()
        .unwrap()
}

pub(crate) fn fail<G: Guard>(guard: G, text: &str) {
    let permit = guard.acquire().unwrap();
    permit.report_because(Failure::new().into(), || text.to_owned());
}

#[test]
fn a_failed_call_of_a_key_says_why_and_how_long_it_took() {
    let clock = ManualClock::new();
    let events = logged_if(of_failures, || {
        clock.advance(SECOND);
        let hosts = hosts(&clock, LENIENT.slow_call(60 * SECOND));
        let permit = hosts.of("a.example").acquire().unwrap();
        clock.advance(Duration::from_millis(250));
        permit.report_because(Failure::new().into(), || {
            "503 Service Unavailable from https://bob:pass@a.example/?token=1".to_owned()
        });
    });
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (event.level, event.target),
        (Level::INFO, "atomic_breaker::failure")
    );
    assert_eq!(event.get("name"), Some("hosts"));
    assert_eq!(event.get("key"), Some("a.example"));
    let text = "503 Service Unavailable from https://a.example/?…";
    assert_eq!(event.get("error"), Some(text), "no secret");
    assert_eq!(event.get("error.type"), Some("503"));
    assert_eq!(event.get("duration"), Some("0.25"));
    assert_eq!(event.get("probe"), Some("false"));
}

#[test]
fn a_slow_call_is_one_that_failed() {
    let clock = ManualClock::new();
    let rules = LENIENT.slow_call(SECOND);
    clock.advance(SECOND);
    let events = logged_if(of_failures, || {
        let hosts = hosts(&clock, rules);
        let resource = Resource::new(
            Breaker::builder(rules, &clock)
                .observer(Log::new("one").clock(&clock))
                .build(),
        );
        let permits = (
            hosts.of("a").acquire().unwrap(),
            resource.acquire().unwrap(),
        );
        clock.advance(2 * SECOND);
        permits.0.report(Outcome::Success);
        permits.1.report(Outcome::Success);
    });
    let kinds: Vec<_> = events.iter().map(|event| event.get("error.type")).collect();
    assert_eq!(kinds, [Some("slow"); 2]);
    assert_eq!(events[0].get("duration"), Some("2.0"));
}

#[test]
fn a_resource_says_why_its_calls_fail() {
    let clock = ManualClock::new();
    let events = logged_if(of_failures, || {
        let resource = Resource::new(
            Breaker::builder(RULES, &clock)
                .observer(Log::new("payments").clock(&clock))
                .build(),
        );
        fail(&resource, "timed out after 3s");
        fail(&resource, "no route");
    });
    let texts: Vec<_> = events.iter().map(|event| event.get("error")).collect();
    assert_eq!(texts, [Some("timed out after 3s"), Some("no route")]);
    assert_eq!(events[0].get("error.type"), Some("timeout"));
    assert_eq!(events[1].get("error.type"), Some("_OTHER"));
}

/// No word is put together for an event that no subscriber wants.
#[test]
fn a_failure_that_nobody_wants_to_see_is_not_described() {
    let clock = ManualClock::new();
    logged(|| {
        let hosts = hosts(&clock, LENIENT);
        let permit = hosts.of("a").acquire().unwrap();
        permit.report_because(Failure::new().into(), || unreachable!("nobody asked"));
    });
}

#[test]
fn cancelled_and_ignored_calls_have_not_failed() {
    let clock = ManualClock::new();
    let events = logged_if(
        |event| of_failures(event) || of_calls(event),
        || {
            let hosts = hosts(&clock, LENIENT);
            drop(hosts.of("a").acquire().unwrap());
            hosts.of("a").acquire().unwrap().report(Outcome::Ignored);
            hosts.of("a").acquire().unwrap().report(Outcome::Success);
        },
    );
    assert!(events.is_empty(), "{events:?}");
}

/// The events that reach a layer that turns them into events of the caller's span.
#[test]
fn each_call_that_failed_or_was_rejected_is_an_event_of_its_own() {
    let clock = ManualClock::new();
    let events = logged_if(of_calls, || {
        let hosts = hosts(&clock, RULES);
        for _ in 0..2 {
            fail(hosts.of("a"), "grpc UNAVAILABLE");
        }
        for _ in 0..5 {
            assert!(hosts.of("a").acquire().is_err());
        }
        hosts.enforcement().set_percent(0).unwrap();
        assert!(hosts.of("a").acquire().is_ok());
    });
    let (shadow, events) = events.split_last().unwrap();
    assert_eq!(shadow.get("message"), Some("call passes in shadow mode"));
    assert_eq!(shadow.get("error.type"), None, "it has not failed");
    let kinds: Vec<_> = events.iter().map(|event| event.get("error.type")).collect();
    let (failed, rejected) = (Some("UNAVAILABLE"), Some("rejected"));
    assert_eq!(kinds, [[failed; 2].as_slice(), &[rejected; 5]].concat());
    assert_eq!(events[2].get("state"), Some("open"));
    assert_eq!(events[2].get("retry_in"), Some("10.0"));
    assert!(events.iter().all(|event| event.level == Level::DEBUG));
}

#[test]
fn successes_are_logged_on_request() {
    let events = logged_if(of_calls, || {
        let observer = LogSuccesses::in_static("one");
        let one: Resource<Breaker<StdClock, NativeWord, (), LogSuccesses>> =
            Resource::new(Breaker::builder(RULES, StdClock).observer(observer).build());
        let many = Registry::builder(RULES).observer(LogSuccesses::new("many"));
        let many = many.build().unwrap();
        assert_eq!(one.call(|| Ok::<_, &str>(1)), Ok(1));
        assert_eq!(many.of("a").call(|| Ok::<_, &str>(1)), Ok(1));
        fail(many.of("a"), "no");
    });
    let seen: Vec<_> = events
        .iter()
        .map(|event| (event.get("name").unwrap(), event.get("key")))
        .collect();
    assert_eq!(seen, [("one", None), ("many", Some("a"))]);
}

/// As `ClientGuard` and others word them.
#[test]
fn the_kind_of_a_failure_is_one_of_few() {
    let kinds = [
        ("transport: timed out", "timeout"),
        ("timed out", "timeout"),
        ("no response for 3s", "timeout"),
        (
            "transport: error sending request: operation timed out",
            "timeout",
        ),
        ("transport: connection refused", "transport"),
        ("503 Service Unavailable", "503"),
        ("503", "503"),
        ("grpc UNAVAILABLE", "UNAVAILABLE"),
        ("grpc is not what it was 0x7f3a", "_OTHER"),
        ("panicked", "panic"),
        ("panicked: on purpose", "panic"),
        ("no route", "_OTHER"),
        ("", "_OTHER"),
        ("1234 things", "_OTHER"),
        ("999 bottles of beer", "_OTHER"),
        ("100 calls in flight", "_OTHER"),
    ];
    for (text, kind) in kinds {
        let events = logged_if(of_failures, || {
            let hosts = Registry::builder(LENIENT).observer(Log::new("hosts"));
            fail(hosts.build().unwrap().of("a"), text);
        });
        assert_eq!(events[0].get("error.type"), Some(kind), "{text}");
    }
}

/// Observers of a failed call may ask twice, call the registry, and panic.
#[test]
fn observers_may_ask_call_back_and_panic() {
    type Keys = Registry<u32, StdClock, (), Asks>;

    struct Asks {
        keys: OnceLock<Weak<Keys>>,
        asked: AtomicU32,
    }

    impl KeyedObserver<u32> for Asks {
        fn failed(&self, key: &u32, failed: &FailedCall<'_>) {
            self.asked.fetch_add(1, Relaxed);
            let keys = self.keys.get().and_then(Weak::upgrade).unwrap();
            match *key {
                0 => {
                    let once = format!("{} {:?}", failed.why(), failed);
                    assert!(once.starts_with("said once "), "{once}");
                }
                1 => fail(keys.of(0), "said once"),
                2 => assert_eq!(
                    failed.why().to_string(),
                    "failed, and the words about it panicked"
                ),
                _ => panic!("on purpose"),
            }
        }
    }

    let asks = Asks {
        keys: OnceLock::new(),
        asked: AtomicU32::new(0),
    };
    let keys = Arc::new(Registry::builder(LENIENT).observer(asks).build().unwrap());
    keys.observer().keys.set(Arc::downgrade(&keys)).unwrap();
    let said = Cell::new(0);
    let permit = keys.of(0).acquire().unwrap();
    permit.report_because(Failure::new().into(), || {
        said.set(said.get() + 1);
        // Words may be fetched through another key.
        fail(keys.of(1), "another");
        "said once".to_owned()
    });
    assert_eq!(said.get(), 1);
    let permit = keys.of(2).acquire().unwrap();
    permit.report_because(Failure::new().into(), || panic!("on purpose"));
    for _ in 0..3 {
        let report = AssertUnwindSafe(|| fail(keys.of(3), "no answer"));
        assert!(catch_unwind(report).is_err());
    }
    // What was reported counts nevertheless.
    assert_eq!(keys.entry(&3).unwrap().snapshot.failures(), 3);
    assert_eq!(keys.observer().asked.load(Relaxed), 7);
}
