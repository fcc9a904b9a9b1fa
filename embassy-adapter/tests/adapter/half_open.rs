// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting beside a probe in flight.

use std::cell::Cell;

use atomic_breaker_embassy::{Config, State};
use core::time::Duration;
use embassy_time::Timer;

use super::sim::{RULES, Sim, Times, Watch, breaker, watched};

/// Three tasks send through a healthy radio whose breaker needs three probes. Returns when they got their permits,
/// and when they were done.
fn three_tasks(rules: Config, takes_ms: u64, is_watched: bool) -> (Vec<u64>, Vec<u64>) {
    let watch = Watch::<4>::new();
    let (with, without) = (watched(rules, &watch), breaker(rules));
    let (begun, done) = (Times::default(), Times::default());
    let mut sim = Sim::new();
    with.trip();
    without.trip();
    for _ in 0..3 {
        sim.spawn(async {
            let report = if is_watched {
                let permit = with.acquire_when_ready().await;
                begun.mark();
                Timer::after_millis(takes_ms).await;
                permit.success()
            } else {
                let permit = without.acquire_when_ready().await;
                begun.mark();
                Timer::after_millis(takes_ms).await;
                permit.success()
            };
            let _ = report;
            done.mark();
        });
    }
    sim.pass(10_000);
    (begun.all(), done.all())
}

#[test]
fn three_tasks_close_a_breaker_that_needs_three_probes_shortly_after_the_open_time() {
    for is_watched in [false, true] {
        let (begun, done) = three_tasks(RULES.close_after(3), 20, is_watched);
        assert_eq!(done.len(), 3);
        assert!(begun[0] >= 1_000 && done[2] <= 1_400, "{begun:?}");
        // Calls that take longer.
        let (begun, done) = three_tasks(RULES.close_after(3), 500, is_watched);
        assert!(begun[0] >= 1_000 && done[2] <= 5_000, "{begun:?}");
    }
}

#[test]
fn a_slot_that_is_given_back_is_noticed_soon() {
    let breaker = breaker(RULES);
    let done = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    let probe = breaker.acquire().unwrap();
    sim.spawn(async {
        let permit = breaker.acquire_when_ready().await;
        done.mark();
        permit.success();
    });
    sim.pass(100);
    drop(probe);
    // It doubles its sleeps, so it sleeps no longer than it has waited already.
    sim.pass(165);
    assert_eq!(done.len(), 1);
    assert_eq!(breaker.state(), State::Closed);
}

/// Returns how often 32 tasks that sleep beside a hanging probe woke in its first second, and in the next nine.
fn polls_beside_a_hanging_probe<const S: usize>() -> (u32, u32) {
    let watch = Watch::<S>::new();
    let breaker = watched(RULES, &watch);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    let probe = breaker.acquire().unwrap();
    let wakes: Vec<_> = (0..32)
        .map(|_| {
            sim.spawn(async {
                breaker.ready().await;
            })
        })
        .collect();
    let sum = || wakes.iter().map(|wakes| wakes.get()).sum::<u32>();
    sim.pass(1_000);
    let first = sum();
    sim.pass(9_000);
    let later = sum() - first;
    assert!(wakes.iter().all(|wakes| wakes.get() <= 8 + 2 * 9));
    drop(probe);
    (first, later)
}

#[test]
fn thirty_two_sleepers_beside_a_hanging_probe_cause_no_polling_storm() {
    for (first, later) in [
        polls_beside_a_hanging_probe::<32>(),
        polls_beside_a_hanging_probe::<1>(),
    ] {
        assert!(first <= 32 * 8, "{first} in the first second");
        assert!(later <= 32 * 2 * 9, "{later} in nine more");
        assert!(first >= 32 * 5, "but they come back soon: {first}");
    }
}

#[test]
fn a_hanging_probe_costs_one_wait_of_its_lease() {
    let rules = RULES.probe_lease(Duration::from_secs(5));
    let breaker = breaker(rules);
    let done = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    let _hangs = breaker.acquire().unwrap();
    for _ in 0..3 {
        sim.spawn(async {
            let permit = breaker.acquire_when_ready().await;
            Timer::after_millis(10).await;
            permit.success();
            done.mark();
        });
    }
    sim.pass(5_000 + 3_000);
    let done = done.all();
    assert_eq!(done.len(), 3);
    assert!(done[0] >= 6_000, "{done:?}");
}

#[test]
fn waiting_beside_a_probe_rejects_no_call() {
    struct Rejections(Cell<u32>);
    impl atomic_breaker_embassy::Observer for Rejections {
        fn rejected(&self, _: atomic_breaker_embassy::Rejected) {
            self.0.set(self.0.get() + 1);
        }
    }
    let breaker =
        atomic_breaker_embassy::Breaker::builder(RULES, atomic_breaker_embassy::EmbassyClock)
            .observer(Rejections(Cell::new(0)))
            .build();
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        let probe = breaker.acquire_when_ready().await;
        Timer::after_millis(800).await;
        probe.success();
    });
    sim.spawn(async {
        breaker.acquire_when_ready().await.success();
    });
    sim.pass(3_000);
    assert_eq!(
        (breaker.observer().0.get(), breaker.state()),
        (0, State::Closed)
    );
}
