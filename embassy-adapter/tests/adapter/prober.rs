// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pings while the breaker is open.

use std::cell::Cell;
use std::future::{Ready, pending, ready};

use atomic_breaker_embassy::{Breaker, EmbassyClock, Mutating, Observer, Outcome, Prober, State};
use core::time::Duration;
use embassy_time::Timer;

use super::sim::{RULES, Sim, Watch, breaker, watched};

pub(super) const EVERY: Prober = Prober::every(Duration::from_millis(100));

/// Pings that succeed while the device works.
pub(super) fn ping(pings: &Cell<u32>, works: &Cell<bool>) -> Ready<Result<(), ()>> {
    pings.set(pings.get() + 1);
    ready(if works.get() { Ok(()) } else { Err(()) })
}

#[test]
fn an_answer_closes_long_before_the_open_time_is_over() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(600)));
    let (pings, works) = (Cell::new(0), Cell::new(false));
    let mut sim = Sim::new();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
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
    assert_eq!(pings.get(), so_far, "a device that works is not pinged");
}

/// Outcomes of calls.
#[derive(Default)]
struct Outcomes(Cell<u32>);

impl Observer for Outcomes {
    fn outcome(&self, _: Outcome) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn the_successes_that_end_an_outage_by_pings_are_no_calls() {
    let outcomes = Outcomes::default();
    let rules = RULES.open_for(Duration::from_secs(600)).close_after(3);
    let breaker = Breaker::builder(rules, EmbassyClock)
        .observer(&outcomes)
        .build();
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
    breaker.trip();
    sim.pass(1_000);
    assert_eq!((breaker.state(), pings.get()), (State::Closed, 1));
    assert_eq!(outcomes.0.get(), 0, "nobody has called");
}

#[test]
fn no_answers_at_all_convince_nobody() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(600)));
    let (pings, works) = (Cell::new(0), Cell::new(false));
    let mut sim = Sim::new();
    sim.spawn(async {
        breaker
            .run_prober(EVERY.answers(0), || ping(&pings, &works))
            .await;
    });
    breaker.trip();
    sim.pass(1_050);
    assert!(pings.get() > 1);
    assert_eq!(breaker.state(), State::Open);
    works.set(true);
    sim.pass(100);
    assert_eq!(breaker.state(), State::Closed, "0 counts as 1");
}

#[test]
fn only_consecutive_successful_pings_count() {
    let breaker = breaker(
        RULES
            .open_for(Duration::from_secs(600))
            .probes(2)
            .close_after(3),
    );
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    sim.spawn(async {
        breaker
            .run_prober(EVERY.answers(3), || ping(&pings, &works))
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
fn with_a_watch_it_looks_every_ten_seconds_while_the_breaker_is_closed() {
    let watch = Watch::<1>::new();
    let breaker = watched(RULES, &watch);
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    let wakes = sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
    sim.pass(60_500);
    assert_eq!(wakes.get(), 6);
    breaker.trip();
    sim.pass(101);
    assert_eq!((pings.get(), breaker.state()), (1, State::Closed));
}

#[test]
fn it_leaves_alone_a_breaker_that_an_operator_holds() {
    let breaker = breaker(RULES);
    let (pings, works) = (Cell::new(0), Cell::new(true));
    let mut sim = Sim::new();
    sim.spawn(async { breaker.run_prober(EVERY, || ping(&pings, &works)).await });
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
        breaker.run_prober(EVERY, ping).await;
    });
    breaker.trip();
    sim.pass(1_000);
    assert_eq!((pings.get(), breaker.state()), (1, State::ForcedOpen));
}

#[test]
fn a_ping_that_hangs_is_not_waited_for() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(600)));
    let pings = Cell::new(0);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        let ping = || async {
            pings.set(pings.get() + 1);
            if pings.get() < 3 {
                pending().await
            } else {
                Ok::<_, ()>(())
            }
        };
        let prober = EVERY.time_limit(Duration::from_millis(400));
        breaker.run_prober(prober, ping).await;
    });
    sim.pass(1_101);
    assert_eq!((pings.get(), breaker.state()), (3, State::Closed));
}

#[test]
fn endless_and_zero_pauses_do_no_harm() {
    for (pause, pinged) in [(Duration::MAX, 0), (Duration::ZERO, 100)] {
        let breaker = breaker(RULES.open_for(Duration::from_secs(600)));
        let (pings, works) = (Cell::new(0), Cell::new(false));
        let mut sim = Sim::new();
        breaker.trip();
        sim.spawn(async {
            let prober = Prober::every(pause).time_limit(pause.max(Duration::from_millis(1)));
            breaker.run_prober(prober, || ping(&pings, &works)).await;
        });
        sim.pass(100);
        assert_eq!(pings.get(), pinged);
    }
}

#[test]
fn a_device_that_is_borrowed_mutably_can_be_pinged() {
    struct Device(u32);
    impl Device {
        async fn ping(&mut self) -> Result<(), ()> {
            Timer::after_millis(1).await;
            self.0 += 1;
            Ok(())
        }
    }
    let breaker = breaker(RULES);
    let mut device = Device(0);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker
            .run_prober(EVERY, Mutating(async || device.ping().await))
            .await;
    });
    sim.pass(102);
    drop(sim);
    assert_eq!((device.0, breaker.state()), (1, State::Closed));
}
