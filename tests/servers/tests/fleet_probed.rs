// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fleet in which one member pings: two rooms that both decide when a key is probed.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seats};
use atomic_breaker_server::{
    AnyPermit, Config, Failure, Guard, Outcome, Prober, Registry, State, TokioClock,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

type Hosts = Registry<String, TokioClock, (), Seats<String>>;

fn member(fleet: &Joined) -> Arc<Hosts> {
    let seats = fleet.seats("hosts").unwrap();
    let rules = Config::new().consecutive_failures(2).open_for(60 * SECOND);
    let hosts = Registry::builder(rules)
        .clock(TokioClock)
        .observer(seats.clone());
    let hosts = Arc::new(hosts.build().unwrap());
    assert!(seats.take(Arc::clone(&hosts)));
    hosts
}

/// The open time of a fleet counts as demanded, so pings wait for it, rather than close what the fleet opens again; then all
/// are served.
#[tokio::test(start_paused = true)]
async fn the_pings_of_one_member_wait_for_the_fleet_and_all_are_served_again() {
    let engine = InProcess::new();
    let config = || FleetConfig::new(3);
    let fleets: Vec<_> = (0..3)
        .map(|_| Joined::new(engine.clone(), config()).unwrap())
        .collect();
    let members: Vec<_> = fleets.iter().map(member).collect();
    sleep(5 * SECOND).await;
    let key = || "a.example".to_owned();
    let works = Cell::new(false);
    let call = |member: &Arc<Hosts>| {
        if let Ok(permit) = member.of(key()).acquire() {
            let outcome = if works.get() {
                Outcome::Success
            } else {
                Failure::new().into()
            };
            permit.report(outcome);
        }
    };
    let states = || {
        members
            .iter()
            .map(|it| it.state(&key()))
            .collect::<Vec<_>>()
    };
    let ping = async |_, _| works.get().then_some(()).ok_or(());
    let scene = async {
        for round in 0..3 {
            works.set(false);
            for _ in 0..20 {
                members.iter().for_each(call);
                sleep(SECOND / 2).await;
            }
            assert_eq!(states(), [State::Open; 3], "{round}");
            works.set(true);
            let began = Instant::now();
            while states() != [State::Closed; 3] {
                assert!(began.elapsed() < 70 * SECOND, "{round}: {:?}", states());
                members.iter().for_each(call);
                sleep(SECOND / 10).await;
            }
            // It was not closed and opened again by turns: the fleet's open time began ten seconds earlier.
            assert!(
                began.elapsed() > 45 * SECOND,
                "{round}: {:?}",
                began.elapsed()
            );
            for _ in 0..100 {
                members.iter().for_each(call);
                sleep(SECOND).await;
            }
            assert_eq!(states(), [State::Closed; 3], "{round}");
        }
    };
    tokio::select! {
        never = members[0].run_prober(Prober::every(SECOND), 4, ping) => never,
        () = scene => {}
    }
}

/// No calls are made any more, but one member pings, last of all: the others have had the right before, one after the
/// other.
#[tokio::test(start_paused = true)]
async fn one_member_that_pings_closes_a_fleet_that_nobody_calls() {
    let engine = InProcess::new();
    let fleets: Vec<_> = (0..20)
        .map(|_| Joined::new(engine.clone(), FleetConfig::new(3)).unwrap())
        .collect();
    let members: Vec<_> = fleets.iter().map(member).collect();
    sleep(5 * SECOND).await;
    for member in members.iter().chain(&members) {
        let permit = member.of("a.example".to_owned()).acquire();
        permit.unwrap().report(Outcome::from(Failure::new()));
    }
    sleep(SECOND).await;
    let state = |of: usize| members[of].state(&"a.example".to_owned());
    assert!((0..20).all(|of| state(of) == State::Open));
    let begin = Instant::now();
    // The open time, sixteen graces of a tenth of it, a right that began before their end, and the silence behind it.
    let longest = (60 + 18 * 6) * SECOND;
    let closed = async {
        while !(0..20).all(|of| state(of) == State::Closed) {
            sleep(SECOND / 10).await;
            let took = begin.elapsed();
            assert!(took < longest, "{took:?}");
        }
    };
    tokio::select! {
        never = members[7].run_prober(Prober::every(SECOND), 4, async |_, _| Ok::<_, ()>(())) => never,
        () = closed => {}
    }
}
