// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of embassy.

use atomic_breaker_embassy::{Breaker, Clock, EmbassyClock, EmbassyTimer, State};
use core::time::Duration;
use embassy_time::MockDriver;

use super::sim::{RULES, Sim, breaker};

#[test]
fn the_breaker_opens_and_recovers_by_embassy_time() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(2)));
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_999);
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.retry_in(), Some(Duration::from_millis(1)));
    sim.pass(1);
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn clock_and_timer_cost_no_memory() {
    assert_eq!(size_of::<(EmbassyClock, EmbassyTimer)>(), 0);
}

/// A device of a fleet that has just started: it has drawn nothing yet.
struct Started;

impl Clock for Started {
    fn now_ms(&self) -> u32 {
        EmbassyClock.now_ms()
    }

    fn entropy(&self) -> u32 {
        EmbassyClock.entropy()
    }

    fn random(&self) -> u32 {
        0
    }
}

#[test]
fn devices_without_a_seed_that_trip_at_another_tick_draw_another_jitter() {
    let _time = Sim::new();
    let rules = RULES.open_for(Duration::from_secs(60)).jitter_percent(50);
    let mut drawn = Vec::new();
    for _ in 0..100 {
        // Far less than a millisecond apart.
        MockDriver::get().advance(embassy_time::Duration::from_ticks(7));
        let tripped = Breaker::new(rules, Started).trip().unwrap();
        drawn.push(tripped.open_for_ms);
    }
    drawn.sort_unstable();
    drawn.dedup();
    assert!(drawn.len() >= 98, "{}", drawn.len());
}
