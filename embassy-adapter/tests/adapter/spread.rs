// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleepers that become ready together do not return together.

use atomic_breaker_embassy::Config;
use core::time::Duration;
use embassy_time::Timer;

use super::sim::{RULES, Sim, Times, Watch, breaker, watched};

#[test]
fn sleepers_come_back_spread_over_an_eighth_of_the_time() {
    let breaker = breaker(RULES);
    let times = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..6 {
        sim.spawn(async {
            breaker.ready().await;
            times.mark();
        });
    }
    sim.pass(1_200);
    let mut times = times.all();
    assert_eq!(times.len(), 6);
    assert!(times.iter().all(|time| (1_000..=1_125).contains(time)));
    times.dedup();
    assert_eq!(times.len(), 6, "no two in the same millisecond: {times:?}");
}

/// Returns when each of 32 sleepers got its permit after an outage of ten seconds; the first probes for 750 ms.
fn thirty_two<const S: usize>(rules: Config) -> Times {
    let watch = Watch::<S>::new();
    let breaker = watched(rules, &watch);
    let times = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..32 {
        sim.spawn(async {
            let permit = breaker.acquire_when_ready().await;
            times.mark();
            Timer::after_millis(750).await;
            permit.success();
        });
    }
    sim.pass(20_000);
    drop(sim);
    times
}

#[test]
fn thirty_two_sleepers_come_back_spread_over_a_second_when_the_breaker_closes() {
    let rules = RULES.open_for(Duration::from_secs(10));
    let woken = thirty_two::<32>(rules);
    assert_eq!(woken.len(), 32);
    assert!(woken.most_within(94) <= 8, "{:?}", woken.all());
    let last = woken.all()[31];
    assert!(last <= 12_500, "{last}");

    // Tasks that are not woken poll at times of their own.
    let looking = thirty_two::<0>(rules);
    assert_eq!(looking.len(), 32);
    assert!(looking.most_within(94) <= 14, "{:?}", looking.all());
}

#[test]
fn after_a_long_sleep_the_spread_is_a_second_at_most() {
    let watch = Watch::<32>::new();
    let breaker = watched(RULES, &watch);
    let times = Times::default();
    let mut sim = Sim::new();
    breaker.force_open();
    for _ in 0..32 {
        sim.spawn(async {
            breaker.ready().await;
            times.mark();
        });
    }
    sim.pass(60_000);
    breaker.reset();
    sim.pass(1_001);
    assert_eq!(times.len(), 32);
    assert!(times.most_within(100) <= 8, "{:?}", times.all());
}

#[test]
fn a_task_that_never_waited_is_not_held_up() {
    let breaker = breaker(RULES);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(60_000);
    assert_eq!(sim.run(async { breaker.ready().await }), 0);
}

#[test]
fn sleepers_that_come_just_before_the_open_time_is_over_are_spread_like_the_others() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(10)));
    let times = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(9_990);
    for _ in 0..32 {
        sim.spawn(async {
            breaker.ready().await;
            times.mark();
        });
    }
    sim.pass(1_100);
    assert_eq!(times.len(), 32);
    assert!(times.most_within(94) <= 8, "{:?}", times.all());
}
