// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits that own a handle to the breaker, for spawned tasks; breakers behind any handle.

use std::rc::Rc;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use atomic_breaker::{AnyBreaker, Breaker, Config, ManualClock, Permit, State, Token};

use super::support::{Fine, ms, rules};

type Owned = Breaker<ManualClock, Fine>;

fn shared(config: Config) -> Arc<Owned> {
    Arc::new(Breaker::over(Fine::default(), config, ManualClock::new()))
}

fn half_open() -> Arc<Owned> {
    let breaker = shared(rules().open_for(ms(10)));
    breaker.trip();
    breaker.clock().advance(ms(10));
    breaker
}

#[test]
fn a_permit_over_an_arc_reports_from_a_spawned_thread() {
    let breaker = half_open();
    let probe = Permit::acquire(Arc::clone(&breaker)).unwrap();
    assert!(probe.is_probe());
    assert!(Permit::acquire(Arc::clone(&breaker)).is_err());
    let made = thread::spawn(move || probe.success()).join().unwrap();
    assert_eq!(made.map(|made| made.to), Some(State::Closed));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn an_owned_permit_that_is_dropped_gives_its_slot_back() {
    let breaker = half_open();
    let probe = Permit::acquire(Arc::clone(&breaker)).unwrap();
    thread::spawn(move || drop(probe)).join().unwrap();
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    assert!(breaker.acquire().is_ok());
}

#[test]
fn an_owned_permit_gives_its_slot_back_when_its_thread_panics() {
    let breaker = half_open();
    let probe = Permit::acquire(Arc::clone(&breaker)).unwrap();
    let thread = thread::spawn(move || {
        let _probe = probe;
        std::panic::resume_unwind(Box::new("as a task may"));
    });
    thread.join().unwrap_err();
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

#[test]
fn an_owned_attempt_that_is_dropped_has_failed() {
    let breaker = half_open();
    let permit = Permit::acquire(Arc::clone(&breaker)).unwrap();
    let attempt = permit.failing_when_dropped();
    thread::spawn(move || drop(attempt)).join().unwrap();
    assert_eq!(breaker.state(), State::Open);
}

/// The breaker lives as long as a permit may report to it.
#[test]
fn an_owned_permit_keeps_its_breaker_and_lets_it_go_when_it_ends() {
    type End = fn(Permit<Arc<Owned>>);
    let ends: [End; 5] = [
        |permit| {
            permit.success();
        },
        |permit| {
            permit.failure();
        },
        |permit| {
            permit.cancel();
        },
        drop,
        |permit| {
            let _token: Token<_> = permit.into_token();
        },
    ];
    for end in ends {
        let breaker = shared(rules());
        let watch = Arc::downgrade(&breaker);
        let permit = Permit::acquire(breaker).unwrap();
        assert_eq!(watch.strong_count(), 1, "the permit's");
        end(permit);
        assert_eq!(watch.strong_count(), 0);
    }
    let breaker = shared(rules());
    breaker.trip();
    assert!(Permit::acquire(Arc::clone(&breaker)).is_err());
    assert_eq!(
        Arc::strong_count(&breaker),
        1,
        "a rejection does not keep it"
    );
}

#[test]
fn many_tasks_own_permits_of_one_breaker() {
    let breaker = shared(rules().consecutive_failures(200));
    let begin = Arc::new(Barrier::new(8));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (breaker, begin) = (Arc::clone(&breaker), Arc::clone(&begin));
            thread::spawn(move || {
                begin.wait();
                for _ in 0..20 {
                    Permit::acquire(Arc::clone(&breaker)).unwrap().failure();
                }
            })
        })
        .collect();
    for task in tasks {
        task.join().unwrap();
    }
    assert_eq!(breaker.snapshot().failures(), 160);
    assert_eq!(Arc::strong_count(&breaker), 1);
}

#[test]
fn a_token_of_an_owned_permit_is_resumed_by_the_breaker() {
    let breaker = half_open();
    let (sender, receiver) = mpsc::channel();
    let probe = Permit::acquire(Arc::clone(&breaker)).unwrap();
    sender.send(probe.into_token()).unwrap();
    breaker.resume(receiver.recv().unwrap()).success();
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn permits_lead_to_the_breaker_by_any_handle() {
    static CLOCK: ManualClock = ManualClock::new();
    static BREAKER: Breaker<&ManualClock> = Breaker::new(Config::new(), &CLOCK);
    fn fail<H: AnyBreaker>(handle: H) {
        Permit::acquire(handle).unwrap().failure();
    }
    fn is_static<T: 'static>(_: &T) {}

    let permit = BREAKER.acquire().unwrap();
    is_static(&permit);
    permit.failure();
    fail(&BREAKER);
    fail(Rc::new(&BREAKER));
    assert_eq!(BREAKER.snapshot().failures(), 3);
    let rc = Rc::new(Breaker::new(Config::new(), ManualClock::new()));
    fail(Rc::clone(&rc));
    fail(Rc::new(Arc::new(&*rc)));
    assert_eq!(rc.snapshot().failures(), 2);
    fail(Box::new(Breaker::new(Config::new(), ManualClock::new())));
    fail(Breaker::new(Config::new(), ManualClock::new()));
}

/// A client that is shared in an `Arc`, with the breaker inside.
struct Client {
    name: &'static str,
    breaker: Owned,
}

/// A user's own handle: a permit owns the whole client.
#[derive(Clone)]
struct ToClient(Arc<Client>);

impl AnyBreaker for ToClient {
    type Clock = ManualClock;
    type Word = Fine;
    type Tally = ();
    type Observer = ();
    type Rules = <Owned as AnyBreaker>::Rules;

    fn as_breaker(&self) -> &Owned {
        &self.0.breaker
    }
}

#[test]
fn a_permit_can_own_a_users_own_handle() {
    let client = ToClient(Arc::new(Client {
        name: "payments",
        breaker: Breaker::over(Fine::default(), rules(), ManualClock::new()),
    }));
    let permit = Permit::acquire(client.clone()).unwrap();
    thread::spawn(move || permit.failure()).join().unwrap();
    let state = client.as_breaker().snapshot();
    assert_eq!((client.0.name, state.failures()), ("payments", 1));
}
