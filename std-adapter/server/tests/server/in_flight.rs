// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that pile up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use atomic_breaker_server::{
    Admit, AnyPermit, Breaker, Config, Failure, Guard, InFlightLimit, ManualClock, Observer,
    Outcome, Rejected, Resource, State, StdClock, breaker,
};

type Manual = Resource<Breaker<Arc<ManualClock>>>;

fn limited(limit: u32) -> (Arc<ManualClock>, Arc<InFlightLimit<Arc<Manual>>>) {
    let clock = Arc::new(ManualClock::new());
    let config = Config::new().open_for(Duration::from_secs(1));
    let breaker = Breaker::new(config, Arc::clone(&clock));
    let resource = Arc::new(Resource::new(breaker));
    (
        clock,
        Arc::new(InFlightLimit::new(resource, limit).tripping()),
    )
}

#[test]
fn a_resource_that_hangs_trips_before_anything_has_failed() {
    let (clock, limit) = limited(10);
    let hanging: Vec<_> = (0..10).map(|_| limit.admit(&()).unwrap()).collect();
    assert_eq!(limit.get_ref().breaker().state(), State::Closed);
    let rejection = limit.admit(&()).unwrap_err();
    assert_eq!(&*rejection.last_failure.unwrap().text, "10 calls in flight");
    assert_eq!(limit.get_ref().breaker().state(), State::Open);
    assert_eq!(limit.in_flight(), 10, "the one that was rejected is none");
    // The probe is let through though the others still hang.
    clock.advance(Duration::from_secs(1));
    let probe = limit.admit(&()).unwrap();
    assert!(probe.is_probe());
    probe.report(Outcome::Success);
    assert_eq!(limit.get_ref().breaker().state(), State::Closed);
    assert!(limit.admit(&()).is_err(), "still too many");
    drop(hanging);
    assert_eq!(limit.in_flight(), 0);
}

/// A limit of 100 and 101 callers of a resource that is well: the one that is turned away comes back at once, or when another
/// call has ended.
#[test]
fn a_limit_that_is_too_small_is_no_failure_of_the_resource() {
    let resource = Resource::new(breaker(Config::new()));
    let limit = &InFlightLimit::new(&resource, 100);
    for comes_back_at_once in [false, true] {
        let mut held = VecDeque::new();
        let mut turned_away = 0;
        for call in 0..10_000 {
            match limit.admit(&()) {
                Ok(permit) => held.push_back(permit),
                Err(rejection) => {
                    assert!(rejection.is_over_limit(), "{rejection}");
                    let words = "100 calls are in flight, as many as are allowed";
                    assert_eq!(rejection.to_string(), words);
                    turned_away += 1;
                    if !comes_back_at_once || call % 1_000 == 0 {
                        held.pop_front().unwrap().report(Outcome::Success);
                    }
                }
            }
        }
        let expected = if comes_back_at_once { 9_891 } else { 4_950 };
        assert_eq!(turned_away, expected);
        assert_eq!(limit.in_flight(), held.len() as u64);
        let snapshot = resource.breaker().snapshot();
        assert_eq!((snapshot.state(), snapshot.failures()), (State::Closed, 0));
    }
}

/// Neither a failure nor a rejection by the breaker.
#[test]
fn observers_see_that_a_call_is_ignored_if_it_is_one_too_many() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);
    impl Observer for Seen {
        fn rejected(&self, rejected: Rejected) {
            self.0.lock().unwrap().push(rejected.to_string());
        }
        fn outcome(&self, outcome: Outcome) {
            self.0.lock().unwrap().push(format!("{outcome:?}"));
        }
        fn cancelled(&self) {
            self.0.lock().unwrap().push("cancelled".to_owned());
        }
    }
    let seen = Seen::default();
    let breaker = Breaker::builder(Config::new(), StdClock).observer(&seen);
    let breaker = breaker.build();
    let limit = &InFlightLimit::new(&breaker, 2);
    let held = [(); 2].map(|()| limit.admit(&()).unwrap());
    let rejection = limit.admit(&()).unwrap_err();
    assert_eq!(rejection.retry_in(), Some(Duration::from_millis(100)));
    assert_eq!(*seen.0.lock().unwrap(), ["Ignored"]);
    for permit in held {
        permit.report(Outcome::Success);
    }
}

#[test]
fn in_shadow_mode_a_call_that_is_one_too_many_passes() {
    let resource = Resource::new(breaker(Config::new()));
    resource.enforcement().set_percent(0).unwrap();
    let limit = &InFlightLimit::new(&resource, 2);
    let held: Vec<_> = (0..10).map(|_| limit.admit(&()).unwrap()).collect();
    assert_eq!(limit.in_flight(), 10);
    assert_eq!(resource.breaker().state(), State::Closed);
    drop(held);
}

#[test]
fn calls_that_end_make_room_however_they_end() {
    let (_, limit) = limited(2);
    for _ in 0..1_000 {
        let [one, other] = [(); 2].map(|()| limit.admit(&()).unwrap());
        one.report(Outcome::Success);
        drop(other);
    }
    assert_eq!(limit.in_flight(), 0);
    limit.admit(&()).unwrap().report(Failure::new().into());
    assert_eq!(limit.get_ref().breaker().snapshot().failures(), 1);
    assert_eq!(limit.in_flight(), 0);
}

#[test]
fn in_shadow_mode_all_calls_pass_and_it_trips_nevertheless() {
    let (_, limit) = limited(2);
    limit.get_ref().enforcement().set_percent(0).unwrap();
    let hanging: Vec<_> = (0..10).map(|_| limit.admit(&()).unwrap()).collect();
    assert_eq!(limit.get_ref().breaker().state(), State::Open);
    assert_eq!(limit.in_flight(), 10);
    drop(hanging);
    assert_eq!(limit.in_flight(), 0);
}

/// Calls begin on one thread and end on another.
#[test]
fn the_sum_is_right_wherever_calls_end() {
    let (_, limit) = limited(1_000_000);
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let held: Vec<_> = (0..1_000).map(|_| limit.admit(&()).unwrap()).collect();
                barrier.wait();
                scope.spawn(move || drop(held));
            });
        }
    });
    assert_eq!(limit.in_flight(), 0);
}

/// Up to nineteen others have been counted that are not held yet when one of twenty threads finds too many calls, and
/// are rejected as well: at least 81.
#[test]
fn threads_together_are_stopped_at_the_limit() {
    let (_, limit) = limited(100);
    let (barrier, done) = (Barrier::new(20), Barrier::new(20));
    let held: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let held: Vec<_> = (0..50).filter_map(|_| limit.admit(&()).ok()).collect();
                    done.wait();
                    held.len()
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert!((81..=100).contains(&held), "{held}");
    assert_eq!(limit.get_ref().breaker().state(), State::Open);
    assert_eq!(limit.in_flight(), 0);
}

#[test]
#[should_panic(expected = "a limit of 0 calls in flight lets none pass: set at least 1")]
fn a_limit_of_zero_is_an_error() {
    let _ = InFlightLimit::new((), 0);
}

/// Calls that began on other threads end here.
#[test]
fn calls_that_end_elsewhere_do_not_hide_those_that_begin_here() {
    let (_, limit) = limited(100);
    for _ in 0..20 {
        let held = thread::scope(|scope| {
            let there = || {
                (0..50)
                    .map(|_| limit.admit(&()).unwrap())
                    .collect::<Vec<_>>()
            };
            scope.spawn(there).join().unwrap()
        });
        drop(held);
    }
    let held = (0..1_000)
        .filter_map(|_| limit.admit(&()).ok())
        .collect::<Vec<_>>();
    assert_eq!(held.len(), 100);
}

#[test]
fn in_shadow_mode_for_half_of_the_calls_half_of_them_are_rejected() {
    let (_, limit) = limited(1);
    limit.get_ref().enforcement().set_percent(50).unwrap();
    let held: Vec<_> = (0..10_000).filter_map(|_| limit.admit(&()).ok()).collect();
    assert!((4_700..5_300).contains(&held.len()), "{}", held.len());
}

/// Thirty-two threads; an operator closes the breaker again and again.
#[test]
fn a_limit_that_is_reset_under_load_loses_no_count() {
    let (_, limit) = limited(4);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                limit.get_ref().breaker().reset();
                thread::yield_now();
            }
        });
        let threads: Vec<_> = (0..32)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        if let Ok(permit) = limit.admit(&()) {
                            thread::yield_now();
                            permit.report(Outcome::Success);
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(limit.in_flight(), 0);
}

/// With the permit of an earlier epoch a call cannot open the breaker, so it asks for another one.
#[test]
fn a_permit_from_before_a_reset_does_not_exceed_the_limit() {
    let (_, limit) = limited(1);
    let resource = limit.get_ref();
    let _held = limit.admit(&()).unwrap();
    let early = resource.acquire().unwrap();
    resource.breaker().trip();
    resource.breaker().reset();
    let late = InFlightLimit::limit(&*limit, early, |permit, outcome, why| {
        permit.replace(outcome, || why)
    });
    assert!(late.is_err());
    assert_eq!(resource.breaker().state(), State::Open);
    assert_eq!(limit.in_flight(), 1);
}

#[test]
fn a_call_is_counted_alone_while_there_is_room_for_it() {
    let limit = InFlightLimit::new((), 2);
    let shown = "InFlightLimit { most: 2, .. }";
    assert_eq!(format!("{limit:?}"), shown);
    for _ in 0..3 {
        let counted = [(); 2].map(|()| InFlightLimit::try_count(&limit, &()).unwrap());
        assert!(InFlightLimit::try_count(&limit, &()).is_none(), "too many");
        assert_eq!(limit.in_flight(), 2);
        drop(counted);
        assert_eq!(limit.in_flight(), 0);
    }
    // A row of eight.
    let by_key = InFlightLimit::by_key((), 2).for_keys(1);
    let counted = (0..9).map(|key: u32| InFlightLimit::try_count(&by_key, &key));
    let counted = counted.collect::<Vec<_>>();
    let found = counted.iter().filter(|it| it.is_some()).count();
    assert_eq!(found, 8, "no room for the ninth");
}

/// As documented: one in a hundred finds no room, and with half as many keys one in five thousand.
#[test]
fn calls_of_so_many_keys_are_counted() {
    for (keys, most_lost) in [(4_096_u32, 110), (2_048, 12)] {
        let limit = InFlightLimit::by_key((), 1);
        let counted: Vec<_> = (0..keys)
            .filter_map(|key| InFlightLimit::try_count(&limit, &key))
            .collect();
        let lost = keys as usize - counted.len();
        assert!(lost <= most_lost, "{lost} of {keys}");
    }
}
