// SPDX-License-Identifier: MIT OR Apache-2.0
//! Of many calls that fail, which are events of their own, and that the others are counted.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use atomic_breaker_observe::Log;
use atomic_breaker_server::{AnyPermit, Failure, Guard, ManualClock, Outcome, Registry};

use crate::failures::{LENIENT, fail, hosts};
use crate::support::{Keeper, Logged, RULES, SECOND, logged_if, of_failures};

fn left_out(event: &Logged) -> u64 {
    let count = event.get("failures_left_out");
    count.map_or(0, |count| count.parse().unwrap())
}

/// A burst: the first three, and in the next second how many there were.
#[test]
fn failures_are_sampled_by_key_and_none_is_forgotten() {
    let clock = ManualClock::new();
    let events = logged_if(of_failures, || {
        let hosts = hosts(&clock, LENIENT);
        for _ in 0..10 {
            fail(hosts.of("a"), "no answer");
        }
        fail(hosts.of("b"), "no answer");
        clock.advance(SECOND);
        for _ in 0..5 {
            fail(hosts.of("a"), "no answer");
        }
    });
    let seen: Vec<_> = events
        .iter()
        .map(|event| (event.get("key").unwrap(), left_out(event)))
        .collect();
    let a = ("a", 0);
    let expected = [a, a, a, ("b", 0), ("a", 7), a, a, ("a", 2)];
    assert_eq!(seen, expected, "the last one when the log was dropped");
}

/// In all, each failed call is an event or left out: with a key that has no slot, one that trips, and probes that fail.
#[test]
fn every_failure_of_a_registry_is_counted_once() {
    let clock = ManualClock::new();
    let failed = Cell::new(0);
    let events = logged_if(of_failures, || {
        let hosts = hosts(&clock, RULES.slow_call(SECOND));
        for step in 0..2_000_u64 {
            clock.advance(Duration::from_millis(700 * (step % 7)));
            let Ok(permit) = hosts.of(["a", "b", "c"][step as usize % 3]).acquire() else {
                continue;
            };
            match step % 4 {
                0 => drop(permit),
                1 => drop(permit.report(Outcome::Ignored)),
                2 => {
                    clock.advance(SECOND);
                    permit.report(Outcome::Success);
                    failed.set(failed.get() + 1);
                }
                _ => {
                    permit.report(Failure::with_weight((step % 3) as u16).into());
                    failed.set(failed.get() + 1);
                }
            }
        }
    });
    let logged: u64 = events.iter().map(left_out).sum::<u64>() + count_of(&events);
    assert!(failed.get() > 50);
    assert_eq!(logged, failed.get());
    let probes = events
        .iter()
        .filter(|event| event.get("probe") == Some("true"));
    assert!(probes.count() > 0);
}

/// Those that are about a call, and not only about what was left out.
fn count_of(events: &[Logged]) -> u64 {
    let calls = events.iter().filter(|event| event.get("error").is_some());
    calls.count() as u64
}

#[test]
#[should_panic(expected = "an interval of more than 24 days samples nothing")]
fn an_interval_that_samples_nothing_is_an_error() {
    let _ = Log::new("hosts").failures_every(Duration::from_secs(30 * 86_400));
}

/// Whatever threads do at the same time, each failed call is an event or is stated as left out.
#[test]
fn threads_lose_no_failure() {
    const THREADS: u64 = 8;
    const KEYS: u64 = 1_500;
    let clock = ManualClock::new();
    let keeper = Keeper::of(of_failures);
    {
        let log = Log::new("threads").clock(&clock);
        let keys: Registry<u64, &ManualClock, (), _> = Registry::builder(LENIENT)
            .clock(&clock)
            .observer(log)
            .capacity(300)
            .build()
            .unwrap();
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (keys, clock, keeper) = (&keys, &clock, keeper.clone());
                scope.spawn(move || {
                    tracing::subscriber::with_default(keeper, || {
                        for step in 0..4_000 {
                            fail(keys.of((step * number) % KEYS), "no answer");
                            if step % 50 == 0 {
                                clock.advance(SECOND * 3);
                            }
                        }
                    });
                });
            }
        });
        tracing::subscriber::with_default(keeper.clone(), || drop(keys));
    }
    let events = keeper.kept();
    let logged = events.iter().map(left_out).sum::<u64>() + count_of(&events);
    assert_eq!(logged, THREADS * 4_000);
}

/// A log that is to leave out nothing does so even if the readings of two threads cross.
#[test]
fn an_interval_of_zero_leaves_nothing_out() {
    let clock = ManualClock::new();
    let events = logged_if(of_failures, || {
        let log = Log::new("hosts").clock(&clock);
        let hosts = Registry::builder(LENIENT).clock(&clock);
        let hosts = hosts.observer(log.failures_every(Duration::ZERO));
        let hosts = hosts.build().unwrap();
        for step in 0..100 {
            clock.set_ms(50_000 - step);
            fail(hosts.of("a"), "no answer");
        }
    });
    assert_eq!(count_of(&events), 100);
    assert!(events.iter().all(|event| left_out(event) == 0));
}

/// A hundred thousand keys that fail take no more memory than the first thousand.
#[test]
fn failing_keys_without_end_are_sampled_within_bounds() {
    let clock = ManualClock::new();
    let failed = 100_000;
    let events = logged_if(of_failures, || {
        let keys = Registry::builder(LENIENT)
            .clock(&clock)
            .observer(Log::new("keys").clock(&clock))
            .build()
            .unwrap();
        for key in 0..failed {
            fail(keys.of(key), "no answer");
        }
    });
    let known = count_of(&events);
    assert!((1_024..=1_030).contains(&known), "{known}");
    assert_eq!(events.iter().map(left_out).sum::<u64>() + known, failed);
}
