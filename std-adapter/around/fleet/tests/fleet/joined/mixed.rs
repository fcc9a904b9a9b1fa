// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything at once, at random: probes that hang, callers that leave, operators, a `Prober`'s early probes, rules that
//! are replaced, an engine that is cut off, stands still or forgets. Then all is well again, except for the calls that
//! hang: every instance that makes calls is served in time, whatever happened before.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::{Breaker, Config, Permit, State, word::NativeWord};

use super::support::{Ahead, GRACE_MS, STEP_MS, World, or_closed, rules};
use atomic_breaker_fleet::Seat;

const LEASE_MS: u64 = 2_000;
const POLL_MS: u64 = 5_000;
const INSTANCES: usize = 4;

type Held = Permit<Arc<Breaker<Ahead, NativeWord, (), Seat>>>;

struct Caller {
    /// Steps between two calls.
    every: u64,
    /// Calls that do not end, or not yet.
    held: Option<(Held, Option<u64>)>,
}

struct Mixed {
    world: World,
    random: fastrand::Rng,
    callers: Vec<Caller>,
    rules: Config,
}

impl Mixed {
    async fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let lease = Duration::from_millis(LEASE_MS);
        let rules = rules().probe_lease(lease).close_after(random.u32(1..=3));
        let fleet = FleetConfig::new(random.u32(1..=2)).poll(Duration::from_millis(POLL_MS));
        let world = World::with_rules(INSTANCES as u32, fleet, rules).await;
        let callers = (0..INSTANCES).map(|_| Caller {
            every: random.u64(1..=GRACE_MS / 2 / STEP_MS),
            held: None,
        });
        Self {
            callers: callers.collect(),
            world,
            random,
            rules,
        }
    }

    /// One step of all callers; while `is_calm`, every call that is made ends at once.
    fn call(&mut self, step: u64, is_calm: bool) {
        for (who, caller) in self.callers.iter_mut().enumerate() {
            match caller.held.take() {
                Some((permit, Some(until))) if step >= until => drop(permit),
                Some(held) => {
                    caller.held = Some(held);
                    continue;
                }
                None => {}
            }
            if !step.is_multiple_of(caller.every) {
                continue;
            }
            let breaker = Arc::clone(&self.world.processes[who].breaker);
            let Ok(permit) = Permit::acquire(breaker) else {
                continue;
            };
            match self.random.u8(..100) {
                0..20 if !is_calm && permit.is_probe() => caller.held = Some((permit, None)),
                20..30 if !is_calm => {
                    let until = step + self.random.u64(1..50);
                    caller.held = Some((permit, Some(until)));
                }
                _ if is_calm || self.world.is_up => drop(permit.success()),
                _ => drop(permit.failure()),
            }
        }
    }

    fn disturb(&mut self) {
        let who = self.random.usize(..INSTANCES);
        let breaker = &self.world.processes[who].breaker;
        let engine = &self.world.engine;
        match self.random.u8(..16) {
            0..4 => self.world.is_up = !self.world.is_up,
            4 => drop(breaker.force_open()),
            5 => drop(breaker.release()),
            6 => drop(breaker.trip()),
            7 => drop(breaker.reset()),
            8 => drop(breaker.probe_early()),
            9 => drop(breaker.probe_now()),
            10 => engine.cut(),
            11 => engine.mend(),
            12 => engine.hang(true),
            13 => engine.hang(false),
            14 => engine.flush(),
            _ => self.callers[who].held = None,
        }
    }

    async fn run(&mut self, seed: u64) {
        let mut step = 0;
        for _ in 0..self.random.u64(1_000..8_000) {
            step += 1;
            if self.random.u16(..300) == 0 {
                self.disturb();
            }
            self.call(step, false);
            self.world.idle(STEP_MS).await;
        }
        self.world.engine.mend();
        self.world.engine.hang(false);
        for (caller, process) in self.callers.iter_mut().zip(&self.world.processes) {
            // Only what hangs for good goes on.
            caller.held.take_if(|(_, until)| until.is_some());
            process.breaker.release();
        }
        let hung = self.callers.iter().filter(|caller| caller.held.is_some());
        let hung = hung.count() as u64;
        // The longest open time, two graces of it, a poll, the pause before another try, and what hangs.
        let (longest, grace) = (40_000, 4_000);
        let needed = u64::from(self.rules.needed_successes());
        let bound = longest
            + 2 * grace
            + POLL_MS
            + 5_000
            + hung * (LEASE_MS + grace / 2)
            + needed * GRACE_MS;
        for _ in 0..bound / STEP_MS {
            step += 1;
            self.call(step, true);
            self.world.idle(STEP_MS).await;
        }
        for (who, caller) in self.callers.iter().enumerate() {
            let state = or_closed(self.world.processes[who].breaker.state());
            assert!(
                caller.held.is_some() || state == State::Closed,
                "seed {seed}: instance {who}, {:?}",
                self.world
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_was_mixed_every_caller_is_served_in_time() {
    let rounds = std::env::var("ATOMIC_BREAKER_MIXED").map_or(12, |n| n.parse().unwrap());
    let first = std::env::var("ATOMIC_BREAKER_SEED")
        .map_or_else(|_| fastrand::u64(..), |n| n.parse().unwrap());
    for round in 0..rounds {
        let seed = first.wrapping_add(round);
        println!("seed {seed}");
        Mixed::new(seed).await.run(seed).await;
    }
}
