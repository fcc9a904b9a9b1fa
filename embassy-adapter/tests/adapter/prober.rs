//! Pings while the breaker is open.

use std::cell::Cell;
use std::future::{Ready, ready};
use std::time;

use atomic_breaker_embassy::{Breaker, EmbassyClock, Prober, State, StateWatch, word::NativeWord};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Duration;

use super::sim::{RULES, Sim, breaker};

const EVERY: Prober = Prober::every(Duration::from_millis(100));

/// Pings that answer when the device works.
fn ping(pings: &Cell<u32>, works: &Cell<bool>) -> Ready<Result<(), ()>> {
    pings.set(pings.get() + 1);
    ready(if works.get() { Ok(()) } else { Err(()) })
}

#[test]
fn an_answer_closes_long_before_the_open_time_is_over() {
    let breaker = breaker(RULES.open_for(time::Duration::from_secs(600)));
    let (pings, works) = (Cell::new(0), Cell::new(false));
    let mut sim = Sim::new();
    sim.spawn(async { EVERY.run(&breaker, || ping(&pings, &works)).await });
    breaker.trip();
    sim.pass(1_050);
    assert!((9..=10).contains(&pings.get()), "{}", pings.get());
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.snapshot().trips(), 1, "failed pings cost nothing");

    works.set(true);
    sim.pass(100);
    assert_eq!(breaker.state(), State::Closed);
    let so_far = pings.get();
    sim.pass(10_000);
    assert_eq!(pings.get(), so_far, "nobody pings a device that works");
}

#[test]
fn only_answers_in_a_row_convince() {
    let breaker = breaker(
        RULES
            .open_for(time::Duration::from_secs(600))
            .probes(2)
            .close_after(3),
    );
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    sim.spawn(async {
        EVERY
            .answers(3)
            .run(&breaker, || ping(&pings, &works))
            .await;
    });
    breaker.trip();
    while pings.get() < 2 {
        sim.pass(1);
    }
    works.set(false);
    while pings.get() < 3 {
        sim.pass(1);
    }
    works.set(true);
    while pings.get() < 5 {
        sim.pass(1);
        assert_eq!(breaker.state(), State::Open);
    }
    sim.pass(101);
    assert_eq!((pings.get(), breaker.state()), (6, State::Closed));
}

#[test]
fn with_a_watch_it_sleeps_while_the_breaker_is_closed() {
    let watch = StateWatch::<CriticalSectionRawMutex, 1>::new();
    let breaker: Breaker<NativeWord, (), _> =
        Breaker::from_parts(NativeWord::new(0), RULES, EmbassyClock, (), &watch);
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    let wakes = sim.spawn(async { EVERY.run(&breaker, || ping(&pings, &works)).await });
    sim.pass(60_000);
    assert_eq!(wakes.get(), 0);
    breaker.trip();
    sim.pass(101);
    assert_eq!((pings.get(), breaker.state()), (1, State::Closed));
}

#[test]
fn what_an_operator_holds_it_leaves_alone() {
    let breaker = breaker(RULES);
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    sim.spawn(async { EVERY.run(&breaker, || ping(&pings, &works)).await });
    breaker.force_open();
    sim.pass(1_000);
    assert_eq!((pings.get(), breaker.state()), (0, State::ForcedOpen));
    breaker.disable();
    sim.pass(1_000);
    assert_eq!((pings.get(), breaker.state()), (0, State::Disabled));
}

#[test]
fn a_breaker_taken_over_during_a_ping_is_left_alone() {
    let breaker = breaker(RULES);
    let pings = Cell::new(0);
    let mut sim = Sim::new();
    sim.spawn(async {
        let ping = || {
            pings.set(pings.get() + 1);
            breaker.force_open();
            ready(Ok::<_, ()>(()))
        };
        EVERY.run(&breaker, ping).await;
    });
    breaker.trip();
    sim.pass(1_000);
    assert_eq!((pings.get(), breaker.state()), (1, State::ForcedOpen));
}
