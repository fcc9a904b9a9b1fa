// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting and retries of threads, in real time.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_std::{
    AnyBreaker, Breaker, CallError, Config, Failure, Observer, Outcome, Retry, RetryEvent, State,
    StdClock, Transition, blocking, breaker,
};

const MS: Duration = Duration::from_millis(1);
/// More than any machine takes.
const LONG: Duration = Duration::from_secs(120);
/// Pauses that take no time.
const QUICK: Retry = Retry::new().first_pause(MS).longest_pause(MS);

fn open(config: Config) -> Breaker {
    let breaker = breaker(config);
    breaker.trip();
    breaker
}

/// An operation that fails so many times, and how often it was run.
fn fails(times: u32, made: &Cell<u32>) -> impl FnMut() -> Result<u32, &'static str> {
    move || {
        made.set(made.get() + 1);
        if made.get() <= times {
            return Err("no answer");
        }
        Ok(made.get())
    }
}

#[test]
fn what_fails_is_tried_again_and_each_try_is_reported() {
    let (server, made) = (breaker(Config::new()), Cell::new(0));
    assert_eq!(blocking::retry(&server, QUICK, fails(2, &made)), Ok(3));
    let made = Cell::new(0);
    let ends = blocking::retry(&server, QUICK, fails(9, &made));
    assert_eq!(ends, Err(CallError::Failed("no answer")));
    assert_eq!((made.get(), server.snapshot().failures()), (3, 3));
}

#[test]
fn an_observer_is_notified_of_what_follows_each_try() {
    let (server, made, mut seen) = (breaker(Config::new()), Cell::new(0), Vec::new());
    let policy = QUICK.observer(|event| seen.push((event.number, event.event)));
    assert_eq!(blocking::retry(&server, policy, fails(2, &made)), Ok(3));
    let sent = [(1, RetryEvent::Sent), (2, RetryEvent::Sent)];
    assert_eq!(seen, [sent[0], sent[1], (3, RetryEvent::Recovered)]);
}

#[test]
fn pauses_take_the_time_of_the_policy() {
    let (server, made) = (breaker(Config::new()), Cell::new(0));
    let began = Instant::now();
    let policy = Retry::new().first_pause(60 * MS).longest_pause(60 * MS);
    assert_eq!(blocking::retry(&server, policy, fails(2, &made)), Ok(3));
    // Two pauses of 30 to 60 ms.
    assert!(began.elapsed() >= 60 * MS, "{:?}", began.elapsed());
}

#[test]
fn an_open_breaker_ends_a_retry_at_once_unless_it_waits() {
    let (server, made) = (open(Config::new().open_for(LONG)), Cell::new(0));
    let ends = blocking::retry(&server, QUICK, fails(0, &made));
    assert!(matches!(ends, Err(CallError::Rejected(_))));
    assert_eq!(made.get(), 0);

    let server = open(Config::new().open_for(50 * MS));
    let waits = QUICK.within(LONG).wait_for_breaker(LONG);
    assert_eq!(blocking::retry(&server, waits, fails(0, &made)), Ok(1));
    assert_eq!(server.state(), State::Closed);
}

#[test]
fn a_try_of_its_own_that_trips_ends_it() {
    let server = breaker(Config::new().consecutive_failures(2).open_for(LONG));
    let made = Cell::new(0);
    let ends = blocking::retry(&server, QUICK, fails(9, &made));
    assert_eq!(ends, Err(CallError::Failed("no answer")));
    assert_eq!((made.get(), server.state()), (2, State::Open));
}

#[test]
fn a_classifier_says_what_is_tried_again() {
    let (server, made) = (breaker(Config::new()), Cell::new(0));
    let classify = |result: &Result<u32, &str>| match result {
        Ok(1) => Failure::new().into(),
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Ignored,
    };
    let ends = blocking::retry_with(&server, classify, QUICK, fails(0, &made));
    assert_eq!((ends, made.get()), (Ok(2), 2));
    let ends = blocking::retry_with(&server, classify, QUICK, fails(9, &Cell::new(0)));
    assert_eq!(ends, Err(CallError::Failed("no answer")));
    assert_eq!(server.snapshot().failures(), 0);
}

#[test]
fn a_panic_counts_as_a_failure_and_leaves_no_slot_taken() {
    let server = open(Config::new().open_for(Duration::ZERO));
    let dies = || -> Result<(), &str> { panic!("in the operation") };
    let run = AssertUnwindSafe(|| blocking::retry(&server, QUICK, dies));
    assert!(catch_unwind(run).is_err());
    assert_eq!(server.snapshot().trips(), 2);
}

#[test]
fn a_wait_ends_when_the_breaker_is_due_and_no_later_than_its_limit() {
    let server = open(Config::new().open_for(50 * MS));
    let began = Instant::now();
    assert_eq!(blocking::ready(&server, LONG), Ok(()));
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    assert!(server.acquire().unwrap().is_probe());

    let server = open(Config::new().open_for(LONG));
    let began = Instant::now();
    let rejected = blocking::ready(&server, 30 * MS).unwrap_err();
    assert_eq!(rejected.state(), State::Open);
    assert!(began.elapsed() >= 30 * MS && began.elapsed() < LONG / 2);
    assert!(blocking::ready(&server, Duration::ZERO).is_err());

    let server = breaker(Config::new());
    assert_eq!(blocking::ready(&server, Duration::MAX), Ok(()));
}

/// Another thread's command is noticed without an observer that wakes, by looking again.
#[test]
fn a_breaker_that_is_forced_open_and_released_is_noticed() {
    let server = Arc::new(breaker(Config::new()));
    server.force_open();
    let other = Arc::clone(&server);
    let waits = thread::spawn(move || blocking::ready(&other, LONG));
    thread::sleep(20 * MS);
    let began = Instant::now();
    server.release();
    assert_eq!(waits.join().unwrap(), Ok(()));
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
}

/// An observer that wakes the one that waits, and notes that it waits.
#[derive(Default)]
struct Wakes {
    waker: Mutex<Option<Waker>>,
    waits: Condvar,
}

impl Observer for &Wakes {
    fn transition(&self, _: &Transition) {
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        *self.waker.lock().unwrap() = Some(waker.clone());
        self.waits.notify_all();
        true
    }
}

/// It would look again after ten seconds.
#[test]
fn a_transition_wakes_a_thread_that_waits_where_the_observer_wakes() {
    let observer = Wakes::default();
    let server = Breaker::builder(Config::new(), StdClock)
        .observer(&observer)
        .build();
    server.force_open();
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let began = Instant::now();
            blocking::ready(&server, LONG).map(|()| began.elapsed())
        });
        let waker = observer.waker.lock().unwrap();
        let waker = observer.waits.wait_while(waker, |it| it.is_none()).unwrap();
        drop(waker);
        server.release();
        assert!(waits.join().unwrap().unwrap() < 5_000 * MS);
    });
}

/// An observer that keeps the wakers of all that waited, as some do until the next transition.
#[derive(Default)]
struct Keeps(Mutex<Vec<Waker>>);

impl Observer for &Keeps {
    fn wake_on_change(&self, waker: &Waker) -> bool {
        let mut kept = self.0.lock().unwrap();
        if !kept.iter().any(|it| it.will_wake(waker)) {
            kept.push(waker.clone());
        }
        true
    }
}

#[test]
fn a_thread_that_looks_again_and_again_is_one_waiter() {
    let observer = Keeps::default();
    let server = Breaker::builder(Config::new(), StdClock)
        .observer(&observer)
        .build();
    server.force_open();
    for _ in 0..100 {
        assert!(blocking::ready(&server, Duration::ZERO).is_err());
    }
    assert_eq!(observer.0.lock().unwrap().len(), 1);
}

/// A call within a try waits for another breaker, on the same thread.
#[test]
fn a_retry_within_a_retry_pauses_as_it_should() {
    let (outer, inner) = (breaker(Config::new()), breaker(Config::new()));
    let (made, made_within) = (Cell::new(0), Cell::new(0));
    let classify = |result: &Result<u32, CallError<&str>>| match result {
        Ok(_) => Outcome::Success,
        Err(_) => Failure::new().into(),
    };
    let began = Instant::now();
    let policy = Retry::new().first_pause(20 * MS).longest_pause(20 * MS);
    let ends = blocking::retry_with(&outer, classify, policy, || {
        made.set(made.get() + 1);
        blocking::retry(&inner, policy, fails(4, &made_within))
    });
    // Three calls and one more, and the second one answers.
    assert_eq!((ends, made.get()), (Ok(5), 2));
    // Two pauses, one of the outer retry, and one.
    assert!(began.elapsed() >= 40 * MS, "{:?}", began.elapsed());
}

/// Both by a reference and through a pointer, with what stands in a `static` and what is shared.
#[test]
fn any_breaker_and_any_pointer_to_one_can_be_waited_for() {
    fn wait_for(server: impl AnyBreaker) {
        assert_eq!(blocking::ready(&server, Duration::ZERO), Ok(()));
    }
    static SERVER: Breaker = breaker(Config::new());
    wait_for(&SERVER);
    wait_for(Arc::new(breaker(Config::new())));
    wait_for(Box::new(breaker(Config::new())));
}
