// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers that panic, or call the registry themselves; what they are told of calls that were slow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use atomic_breaker_server::{
    AnyPermit, Failure, Guard, KeyedObserver, ManualClock, Outcome, Registry, Rejected, State,
    StdClock, Transition, WhenFull,
};

use super::{Keys, RULES, SECOND, build, fail};

/// Panics at transitions while it is armed.
#[derive(Debug, Default)]
struct Panicking(AtomicBool);

impl KeyedObserver<u32> for Panicking {
    fn transition(&self, _: &u32, _: &Transition) {
        assert!(!self.0.load(Ordering::Relaxed), "in the observer");
    }
}

#[test]
fn an_observer_that_panics_takes_no_probe_with_it() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .observer(Panicking::default())
        .build()
        .unwrap();
    fail(&keys, 1);
    fail(&keys, 1);
    clock.advance(10 * SECOND);
    keys.observer().0.store(true, Ordering::Relaxed);
    let panicked = catch_unwind(AssertUnwindSafe(|| keys.of(1).acquire().is_ok()));
    assert!(panicked.is_err(), "when it becomes half-open");
    keys.observer().0.store(false, Ordering::Relaxed);
    let snapshot = keys.entry(&1).unwrap().snapshot;
    assert_eq!(
        (snapshot.state(), snapshot.probes_in_flight()),
        (State::HalfOpen, 0)
    );
    assert!(keys.of(1).call(|| Ok::<_, &str>(())).is_ok());
    assert_eq!(keys.state(&1), State::Closed);
}

#[test]
fn an_observer_that_panics_at_a_report_loses_nothing() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .observer(Panicking::default())
        .build()
        .unwrap();
    fail(&keys, 1);
    let permit = keys.of(1).acquire().unwrap();
    keys.observer().0.store(true, Ordering::Relaxed);
    let panicked = catch_unwind(AssertUnwindSafe(|| permit.report(Failure::new().into())));
    assert!(panicked.is_err());
    assert_eq!(keys.state(&1), State::Open);
}

/// Keeps how calls ended.
#[derive(Debug, Default)]
struct Ends {
    outcomes: Mutex<Vec<(u32, Outcome)>>,
    cancelled: AtomicU32,
}

impl KeyedObserver<u32> for Ends {
    fn outcome(&self, key: &u32, outcome: Outcome) {
        self.outcomes.lock().unwrap().push((*key, outcome));
    }

    fn cancelled(&self, _: &u32) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

/// The only slot is that of key 0, unless there is room.
fn measured(clock: &ManualClock, when_full: Option<WhenFull>) -> Keys<'_, Ends> {
    let builder = Registry::<u32>::builder(RULES.slow_call(SECOND)).clock(clock);
    let builder = match when_full {
        Some(when_full) => builder.capacity(1).when_full(when_full),
        None => builder,
    };
    let keys = builder.observer(Ends::default()).build().unwrap();
    if when_full.is_some() {
        keys.command(&0, |breaker| breaker.force_open()).unwrap();
    }
    keys
}

/// Keys with a slot and without one, also where there is no room.
#[test]
fn observers_see_a_slow_success_as_a_slow_failure_wherever_its_key_is() {
    for when_full in [None, Some(WhenFull::Pass)] {
        let clock = ManualClock::starting_at(5);
        let keys = measured(&clock, when_full);
        for _ in 0..2 {
            let slow = keys.of(1).acquire();
            clock.advance(SECOND);
            slow.unwrap().report(Outcome::Success);
        }
        let told = keys.observer().outcomes.lock().unwrap();
        let expected = [(1, Failure::slow().into()); 2];
        assert_eq!(*told, expected, "{when_full:?}");
        assert_eq!(keys.observer().cancelled.load(Ordering::Relaxed), 0);
    }
}

/// It counts as a failure, but what observers are told is how it ended.
#[test]
fn observers_see_a_slow_drop_as_cancelled_wherever_its_key_is() {
    for when_full in [None, Some(WhenFull::Pass)] {
        let clock = ManualClock::starting_at(5);
        let keys = measured(&clock, when_full);
        for _ in 0..2 {
            let slow = keys.of(1).acquire();
            clock.advance(SECOND);
            drop(slow.unwrap());
        }
        let told = keys.observer().outcomes.lock().unwrap();
        assert_eq!(*told, [], "{when_full:?}");
        assert_eq!(keys.observer().cancelled.load(Ordering::Relaxed), 2);
        let is_open = keys.of(1).acquire().is_err();
        assert_eq!(is_open, when_full != Some(WhenFull::Pass), "{when_full:?}");
    }
}

#[test]
fn observers_see_a_slow_success_as_a_slow_failure_after_its_key_lost_its_slot() {
    let clock = ManualClock::starting_at(5);
    let builder = Registry::<u32>::builder(RULES.slow_call(SECOND)).clock(&clock);
    let keys = builder.capacity(1).observer(Ends::default());
    let keys = keys.build().unwrap();
    fail(&keys, 1);
    let [slow, quick] = [(); 2].map(|()| keys.of(1).acquire().unwrap());
    fail(&keys, 2);
    fail(&keys, 2);
    assert_eq!(keys.state(&2), State::Open);
    quick.report(Outcome::Success);
    clock.advance(SECOND);
    slow.report(Outcome::Success);
    let told = keys.observer().outcomes.lock().unwrap();
    assert_eq!(
        told[3..],
        [(1, Outcome::Success), (1, Failure::slow().into())]
    );
}

/// Calls the registry from wherever it is notified.
#[derive(Debug, Default)]
struct Reentering {
    depth: AtomicU32,
    seen: AtomicU32,
}

type Reentered = Registry<u32, StdClock, (), &'static Reentering>;
static KEYS: OnceLock<Reentered> = OnceLock::new();
static OBSERVER: Reentering = Reentering {
    depth: AtomicU32::new(0),
    seen: AtomicU32::new(0),
};

impl Reentering {
    fn enter(&self, key: u32) {
        self.seen.fetch_add(1, Ordering::Relaxed);
        if self.depth.fetch_add(1, Ordering::Relaxed) < 3 {
            let keys = KEYS.get().unwrap();
            let _ = keys.of(key).call(|| Err::<(), _>("again"));
            let _ = keys.of(key + 1).call(|| Err::<(), _>("another"));
            let _ = keys.command(&key, |breaker| breaker.trip());
            let _ = keys.set_config_of(&(key + 2), RULES.consecutive_failures(7));
            keys.set_config(RULES.consecutive_failures(3)).unwrap();
            let _ = (
                keys.entries().count(),
                keys.stats(),
                keys.clear_config_of(&(key + 2)),
            );
        }
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

impl KeyedObserver<u32> for Reentering {
    fn transition(&self, key: &u32, _: &Transition) {
        self.enter(*key);
    }
    fn rejected(&self, key: &u32, _: Rejected) {
        self.enter(*key);
    }
    fn outcome(&self, key: &u32, _: Outcome) {
        self.enter(*key);
    }
    fn cancelled(&self, key: &u32) {
        self.enter(*key);
    }
}

#[test]
fn an_observer_may_call_the_registry() {
    let built = Registry::builder(RULES)
        .capacity(2)
        .observer(&OBSERVER)
        .build()
        .unwrap();
    assert!(KEYS.set(built).is_ok());
    let (done, is_done) = mpsc::channel();
    // A thread of its own, as one that waits for itself would not come back.
    thread::spawn(move || {
        let keys = KEYS.get().unwrap();
        for key in 0..8 {
            for _ in 0..4 {
                let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
                drop(keys.of(key).acquire());
            }
        }
        done.send(()).unwrap();
    });
    assert!(
        is_done.recv_timeout(60 * SECOND).is_ok(),
        "waits for itself"
    );
    assert!(OBSERVER.seen.load(Ordering::Relaxed) > 8);
    assert_eq!(OBSERVER.depth.load(Ordering::Relaxed), 0);
}
