// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transitions that are reported after the fleet has acted on the breaker: those made before its act are out of date.

use atomic_breaker_fleet::{
    FleetConfig, InProcess, Joined, Message, Name, Notice, Period, PeriodId,
};
use atomic_breaker_server::State;

use super::faulty::seated;
use super::keys::{Process, idle, open_elsewhere};

/// Publishes a period of which no record knows.
fn publish(engine: &InProcess, name: &str) {
    engine.publish(Message {
        name: Name::new(name).unwrap(),
        notice: Notice::Open(Period {
            id: PeriodId {
                epoch: 1 << 45,
                mark: 7,
            },
            remaining_ms: 2_000,
            leased_ms: 0,
            open_ms: 2_000,
            trips: 1,
        }),
    });
}

/// So many reports of others come first that the message is heard before that of the reset.
const OTHERS: u32 = 300;

#[tokio::test(start_paused = true)]
async fn a_reset_before_the_fleet_opened_does_not_end_the_period() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let (payments, other) = (seated(&joined, "payments"), seated(&joined, "other"));
    idle(20).await;
    publish(&engine, "payments");
    for _ in 0..OTHERS {
        other.trip();
        other.reset();
    }
    payments.trip();
    payments.reset();
    idle(20).await;
    assert_eq!(payments.state(), State::Open);
    assert_eq!(joined.status().open, 1);
}

#[tokio::test(start_paused = true)]
async fn a_reset_of_a_key_before_the_fleet_opened_it_does_not_end_the_period() {
    let engine = InProcess::new();
    let process = Process::new(&engine, 8);
    idle(20).await;
    let reset = |host: &str| {
        let hosts = &process.hosts;
        let made = hosts.command(&host.to_owned(), |key| (key.trip(), key.reset()));
        made.unwrap();
    };
    publish(&engine, "hosts/a.example");
    for _ in 0..OTHERS {
        reset("other.example");
    }
    reset("a.example");
    idle(20).await;
    assert_eq!(process.state("a.example"), State::Open);
    assert_eq!(process.status().open, 1);
}

#[tokio::test(start_paused = true)]
async fn a_reset_in_the_period_ends_it_here_even_if_the_breaker_has_tripped_since() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let payments = seated(&joined, "payments");
    idle(20).await;
    open_elsewhere(&engine, b"payments").await;
    idle(20).await;
    assert_eq!((payments.state(), joined.status().open), (State::Open, 1));
    let requests = engine.requests();
    payments.reset();
    for _ in 0..3 {
        payments.acquire().unwrap().failure();
    }
    idle(20).await;
    assert_eq!((payments.state(), joined.status().open), (State::Open, 0));
    assert_eq!(joined.holds().of("payments"), None);
    assert_eq!(engine.requests() - requests, 1, "a vote");
}

#[tokio::test(start_paused = true)]
async fn the_success_of_a_key_counts_although_another_has_taken_its_slot() {
    let engine = InProcess::new();
    let process = Process::with(&engine, 8, FleetConfig::new(1));
    idle(20).await;
    process.trip("a.example");
    idle(10_010).await;
    assert!(!process.call("a.example", true));
    idle(200).await;
    assert!(process.call("a.example", true), "it has the right to probe");
    // How long a key stays is drawn at random.
    let mut others = (0..10_000).map(|other| process.call(&other.to_string(), false));
    assert!(others.any(|_| process.hosts.entry(&"a.example".to_owned()).is_none()));
    idle(20).await;
    assert_eq!(process.status().open, 0, "{:?}", process.status());
    // The engine knows, too.
    let newcomer = Process::new(&engine, 8);
    idle(20).await;
    assert_eq!(newcomer.state("a.example"), State::Closed);
}
