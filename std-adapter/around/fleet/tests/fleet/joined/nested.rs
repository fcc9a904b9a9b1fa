// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer of the user's that is notified while the fleet acts on one breaker, and changes another one.

use std::sync::{Arc, Weak};
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seats};
use atomic_breaker_server::{
    Breaker, Guard, KeyedObserver, Observer, Registry, State, TokioClock, Transition,
};

use super::support::rules;

/// Notes the failures of another breaker as soon as this one opens: what has failed here fails there.
#[derive(Clone)]
struct FailsToo(Arc<dyn Fn() + Send + Sync>);

impl Observer for FailsToo {
    fn transition(&self, transition: &Transition) {
        if transition.to == State::Open {
            (self.0)();
        }
    }
}

/// The same for the key `a`.
impl KeyedObserver<String> for FailsToo {
    fn transition(&self, key: &String, transition: &Transition) {
        if key == "a" && transition.to == State::Open {
            (self.0)();
        }
    }
}

async fn idle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_is_tripped_while_the_fleet_acts_on_another_is_published() {
    let engine = InProcess::new();
    let joined = [(); 2].map(|()| Joined::new(engine.clone(), FleetConfig::new(1)).unwrap());
    let payments = joined.each_ref().map(|joined| {
        let seat = joined.seat("payments").unwrap();
        let breaker = Breaker::builder(rules(), TokioClock).observer(seat.clone());
        let breaker = Arc::new(breaker.build());
        assert!(seat.take(Arc::clone(&breaker)));
        breaker
    });
    let accounts = [0, 1].map(|process: usize| {
        let seat = joined[process].seat("accounts").unwrap();
        let payments = Arc::clone(&payments[process]);
        // In the first process the two have nothing to do with one another.
        let fails_too = FailsToo(Arc::new(move || {
            for _ in 0..3 * process {
                let _ = payments.call(|| Err::<(), _>("down"));
            }
        }));
        let breaker = Breaker::builder(rules(), TokioClock).observer((seat.clone(), fails_too));
        let breaker = Arc::new(breaker.build());
        assert!(seat.take(Arc::clone(&breaker)));
        breaker
    });
    idle().await;
    for _ in 0..3 {
        let _ = accounts[0].call(|| Err::<(), _>("down"));
    }
    idle().await;
    assert_eq!(accounts[1].state(), State::Open);
    assert_eq!(payments[1].state(), State::Open);
    assert_eq!(
        payments[0].state(),
        State::Open,
        "nobody was notified of it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_tripped_while_the_fleet_acts_on_another_is_published() {
    type Hosts = Registry<String, TokioClock, (), (Seats<String>, FailsToo)>;
    let engine = InProcess::new();
    let joined = [(); 2].map(|()| Joined::new(engine.clone(), FleetConfig::new(1)).unwrap());
    let hosts: [Arc<Hosts>; 2] = [0, 1].map(|process: usize| {
        let seats = joined[process].seats("hosts").unwrap();
        let hosts = Arc::new_cyclic(|hosts: &Weak<Hosts>| {
            let hosts = hosts.clone();
            let fails_too = FailsToo(Arc::new(move || {
                for _ in 0..3 * process {
                    let hosts = hosts.upgrade().unwrap();
                    let _ = hosts.of("b".to_owned()).call(|| Err::<(), _>("down"));
                }
            }));
            let builder = Registry::builder(rules()).clock(TokioClock);
            builder
                .observer((seats.clone(), fails_too))
                .build()
                .unwrap()
        });
        assert!(seats.take(Arc::clone(&hosts)));
        hosts
    });
    idle().await;
    for _ in 0..3 {
        let _ = hosts[0].of("a".to_owned()).call(|| Err::<(), _>("down"));
    }
    idle().await;
    let [a, b] = ["a".to_owned(), "b".to_owned()];
    assert_eq!(hosts[1].state(&a), State::Open);
    assert_eq!(hosts[1].state(&b), State::Open);
    assert_eq!(hosts[0].state(&b), State::Open, "nobody was notified of it");
}
