// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pings beside calls: probes that are in flight or lost, and pauses that were demanded.

use std::cell::{Cell, RefCell};
use std::future::ready;

use atomic_breaker_embassy::{Failure, Repairing, State};
use core::time::Duration;
use embassy_time::Timer;

use super::prober::{EVERY, ping};
use super::sim::{RULES, Sim, Times, breaker};

#[test]
fn it_leaves_a_half_open_breaker_to_a_probe_in_flight() {
    let breaker = breaker(RULES);
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    breaker.force_open();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
    breaker.release();
    let probe = breaker.acquire().unwrap();
    sim.pass(5_000);
    assert_eq!((pings.get(), breaker.state()), (0, State::HalfOpen));
    probe.failure();
    assert_eq!(breaker.state(), State::Open);
    sim.pass(101);
    assert_eq!((pings.get(), breaker.state()), (1, State::Closed));
}

#[test]
fn it_pings_a_half_open_breaker_without_a_probe_in_flight() {
    let breaker = breaker(RULES);
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    breaker.force_open();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
    sim.pass(1_000);
    breaker.release();
    assert_eq!((pings.get(), breaker.state()), (0, State::HalfOpen));
    sim.pass(201);
    assert_eq!((pings.get(), breaker.state()), (1, State::Closed));
}

#[test]
fn real_calls_are_let_through_while_a_ping_is_out() {
    let breaker = breaker(RULES.close_after(2));
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        let slow = || async {
            Timer::after_millis(5_000).await;
            Err::<(), _>(())
        };
        breaker.run_prober(EVERY, slow).await;
    });
    sim.pass(1_000);
    for _ in 0..2 {
        assert!(
            breaker.acquire().unwrap().is_probe(),
            "the ping holds no slot"
        );
        breaker.acquire().unwrap().success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_demanded_time_is_not_ended_by_pings() {
    let breaker = breaker(RULES);
    let (pings, works) = (Times::default(), Cell::new(true));
    let mut sim = Sim::new();
    sim.spawn(async {
        let ping = || {
            pings.mark();
            ready(if works.get() { Ok(()) } else { Err(()) })
        };
        breaker.run_prober(EVERY, ping).await;
    });
    let minute = Duration::from_secs(60);
    breaker
        .acquire()
        .unwrap()
        .report(Failure::tripping_for(minute));
    sim.pass(59_999);
    assert_eq!(
        (pings.len(), breaker.state()),
        (0, State::Open),
        "nor bothered by them"
    );
    sim.pass(101);
    assert_eq!((pings.len(), breaker.state()), (1, State::Closed));
}

/// The example of its documentation: an open time of ten minutes, and a server that asks for one.
#[test]
fn a_demand_shorter_than_the_open_time_is_not_ended_by_pings() {
    for seconds in [1, 60, 299, 300, 599] {
        let breaker = breaker(RULES.open_for(Duration::from_secs(600)));
        let (pings, works) = (Cell::new(0), Cell::new(true));
        let mut sim = Sim::new();
        sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
        let demanded = Failure::tripping_for(Duration::from_secs(seconds));
        breaker.acquire().unwrap().report(demanded);
        sim.pass(seconds * 1_000);
        assert_eq!((pings.get(), breaker.state()), (0, State::Open));
        sim.pass(600_101 - seconds * 1_000);
        assert_eq!((pings.get(), breaker.state()), (1, State::Closed));
    }
}

#[test]
fn it_pings_when_the_probe_in_flight_is_lost() {
    let breaker = breaker(RULES.probe_lease(Duration::from_secs(2)));
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    breaker.force_open();
    breaker.release();
    let lost = breaker.acquire().unwrap().into_token();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
    sim.pass(1_990);
    assert_eq!(pings.get(), 0);
    sim.pass(200);
    assert_eq!((pings.get(), breaker.state()), (1, State::Closed));
    drop(lost);
}

#[test]
fn a_lost_probe_of_two_does_not_keep_it_from_pinging() {
    let lease = Duration::from_secs(2);
    let breaker = breaker(RULES.probes(2).probe_lease(lease));
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    breaker.force_open();
    breaker.release();
    let lost = breaker.acquire().unwrap().into_token();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
    // One ping takes the free slot, the next one comes when the lease of the lost probe is over.
    sim.pass(2_301);
    assert_eq!((pings.get(), breaker.state()), (2, State::Closed));
    drop(lost);
}

#[test]
fn a_pause_requested_during_a_ping_is_kept() {
    let breaker = breaker(RULES);
    let mut sim = Sim::new();
    sim.spawn(async {
        let ping = || {
            breaker.trip_for(Duration::from_secs(60));
            ready(Ok::<_, ()>(()))
        };
        breaker.run_prober(EVERY, ping).await;
    });
    breaker.trip();
    sim.pass(1_000);
    assert!(breaker.snapshot().is_demanded());
    assert_eq!(breaker.state(), State::Open);
}

/// While a ping is out, the operator ends the outage, and the next one begins.
#[test]
fn answers_and_repairs_of_an_outage_that_was_ended_during_a_ping_are_not_those_of_the_next_one() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(600)));
    let (pings, rungs) = (Cell::new(0), RefCell::new(Vec::new()));
    let ping = |trips| {
        pings.set(pings.get() + 1);
        rungs.borrow_mut().push(trips);
        let number = pings.get();
        let (breaker, works) = (&breaker, !(3..=6).contains(&number));
        async move {
            Timer::after_millis(10).await;
            if number == 3 || number == 6 {
                breaker.reset();
                breaker.trip();
            }
            if works || number == 3 {
                Ok(())
            } else {
                Err(())
            }
        }
    };
    let mut sim = Sim::new();
    sim.spawn(async {
        breaker.run_prober(EVERY.answers(3), Repairing(ping)).await;
    });
    breaker.trip();
    // A pause while it was closed, one before each ping, and the pings.
    sim.pass(100 + 3 * 110 + 50);
    assert_eq!((pings.get(), breaker.state()), (3, State::Open));
    sim.pass(4 * 110);
    assert_eq!(*rungs.borrow(), [1, 1, 1, 1, 2, 3, 1]);
    assert_eq!(breaker.state(), State::Open);
    sim.pass(2 * 110);
    assert_eq!((pings.get(), breaker.state()), (9, State::Closed));
}
