// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that look first, and do not call what is open: they are never rejected, and yet there to probe.

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::State;

use super::support::{GRACE_MS, Process, STEP_MS, World};

/// The longest open time after one trip, and its grace.
const PERIOD_MS: u64 = 10_000 + GRACE_MS;

impl World {
    /// Processes whose callers look before they call, every 10 ms.
    async fn look(&mut self, who: &[usize], ms: u64) {
        for _ in 0..ms / STEP_MS {
            for &number in who {
                let process = &self.processes[number];
                if process.breaker.state() != State::Open && process.call(self.is_up) {
                    self.made.push((self.now_ms, number));
                }
            }
            self.idle(STEP_MS).await;
        }
    }

    /// Until these are served; how long that took.
    async fn served(&mut self, who: &[usize]) -> u64 {
        let begin = self.now_ms;
        while who
            .iter()
            .any(|&number| !self.processes[number].is_served())
        {
            self.look(who, STEP_MS).await;
            assert!(self.now_ms < begin + 600_000, "{self:?}");
        }
        self.now_ms - begin
    }
}

impl Process {
    fn is_served(&self) -> bool {
        matches!(self.breaker.state(), State::Closed | State::Returning)
    }
}

#[tokio::test(start_paused = true)]
async fn a_fleet_whose_callers_all_look_is_served_a_grace_later_than_one_that_calls() {
    let mut world = World::new(5, FleetConfig::new(3)).await;
    world.trip().await;
    world.is_up = true;
    let took = world.served(&[0, 1, 2, 3, 4]).await;
    assert!(took <= PERIOD_MS + GRACE_MS, "{took} ms");
    // One probe served all.
    let first = world.made[0].0;
    let at_once = world.made.iter().filter(|(at, _)| *at == first);
    assert_eq!(at_once.count(), 1, "{:?}", world.made);
}

#[tokio::test(start_paused = true)]
async fn a_dead_resource_gets_no_more_probes_from_callers_that_look() {
    let mut world = World::new(5, FleetConfig::new(3)).await;
    world.trip().await;
    let all = [0, 1, 2, 3, 4];
    world.look(&all, 150_000).await;
    // Of four periods, 10 s, 20 s, 40 s and 40 s, and the pauses after each.
    assert!((4..=10).contains(&world.made.len()), "{:?}", world.made);
    assert!(!world.processes.iter().any(Process::is_served), "{world:?}");
    world.is_up = true;
    let took = world.served(&all).await;
    assert!(took <= 40_000 + 2 * GRACE_MS, "{took} ms");
}

/// All others are idle, and have the right one after the other: its own turn comes after sixteen graces, the half of one for a right
/// that began before their end, and a grace of silence at the latest.
#[tokio::test(start_paused = true)]
async fn one_looking_instance_of_sixty_is_served_within_eighteen_graces() {
    for one in [0, 17, 59] {
        let mut world = World::new(60, FleetConfig::new(3)).await;
        world.trip().await;
        world.is_up = true;
        let took = world.served(&[one]).await;
        assert!(took <= PERIOD_MS + 18 * GRACE_MS, "{took} ms");
    }
}

/// Outages of one to eight minutes, half an hour apart: nothing is left over from one to the next.
#[tokio::test(start_paused = true)]
async fn outage_after_outage_all_that_look_are_served_in_time() {
    let mut world = World::new(3, FleetConfig::new(2)).await;
    let all = [0, 1, 2];
    for outage in 0..12 {
        world.is_up = false;
        world.made.clear();
        world.look(&all, 500).await;
        assert!(world.all_are(State::Open), "{outage}: {world:?}");
        world.idle((1 + outage % 8) * 60_000).await;
        world.look(&all, 30_000).await;
        world.is_up = true;
        let took = world.served(&all).await;
        // The longest open time, and two of its graces.
        assert!(took <= 40_000 + 2 * 4_000, "{outage}: {took} ms");
        world.idle(1_800_000).await;
        assert!(world.processes.iter().all(Process::is_served), "{outage}");
    }
}
