// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories of keys of which some may be shut out, against a list: those that are down, in the order in which they
//! went down.
//!
//! `BREAKER_MODEL_STEPS` sets how many steps are taken (40,000 unless set), `BREAKER_SEED` repeats them.

use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Clock, Config, Failure, Guard, GuardPermit, KeyGuard, ManualClock, Outcome,
    Snapshot, State,
};

use super::threads::{Random, seed};
use super::{Keys, MS, RULES, SECOND, build};

const HOSTS: u32 = 24;

/// Rules that replace each other.
const ALL_RULES: [Config; 3] = [
    RULES,
    RULES
        .probes(2)
        .close_after(3)
        .probe_lease(Duration::from_secs(3)),
    RULES
        .open_for(SECOND)
        .exponential(2, Duration::from_secs(8))
        .gradual_return(10, Duration::from_secs(5)),
];

/// Returns whether a key that is down does not count, as it rejects none of its calls and has been asked for none
/// lately.
fn is_idle(it: &Snapshot, clock: &ManualClock) -> bool {
    match it.entered() {
        State::Open => {
            let since_ms = clock.now_ms().wrapping_sub(it.opened_at_ms().unwrap());
            u128::from(since_ms) >= 2 * it.open_for().unwrap().as_millis()
        }
        State::HalfOpen => it.is_due(),
        State::Returning => it.returning_percent() == Some(100),
        _ => unreachable!("not down"),
    }
}

struct World<'a> {
    clock: &'a ManualClock,
    keys: &'a Keys<'a>,
    most: usize,
    order: Vec<u32>,
    held: Vec<GuardPermit<KeyGuard<&'a Keys<'a>>>>,
    random: Random,
    /// The number of rejections that were enforced, and of those that were not.
    seen: [u64; 2],
}

impl World<'_> {
    fn step(&mut self) {
        let host = self.random.below(HOSTS.into()) as u32;
        let keys = self.keys;
        match self.random.below(100) {
            0..60 => {
                let fails = self.random.below(10) < 8;
                if let Ok(permit) = keys.of(host).acquire() {
                    let outcome = match self.random.below(10) {
                        0 => return self.held.push(permit),
                        1 => Some(Outcome::Ignored),
                        2 => None,
                        _ if fails => Some(Failure::new().into()),
                        _ => Some(Outcome::Success),
                    };
                    outcome.map(|outcome| permit.report(outcome));
                }
            }
            60..70 if !self.held.is_empty() => {
                let at = self.random.below(self.held.len() as u64) as usize;
                let permit = self.held.swap_remove(at);
                match self.random.below(3) {
                    0 => drop(permit),
                    1 => drop(permit.report(Failure::new().into())),
                    _ => drop(permit.report(Outcome::Success)),
                }
            }
            70..80 => {
                let command = self.random.below(8);
                keys.command(&host, |it| match command {
                    0 => it.trip(),
                    1 => it.trip_for(7 * SECOND),
                    2 => it.force_open(),
                    3 => it.release(),
                    4 => it.disable(),
                    5 => it.enable(),
                    6 => it.probe_now(),
                    _ => it.reset(),
                })
                .unwrap();
            }
            80 => {
                let rules = ALL_RULES[self.random.below(3) as usize];
                keys.set_config(rules).unwrap();
            }
            _ => {}
        }
        let ms = self.random.below(600);
        self.clock.advance(MS * ms as u32);
    }

    /// One key at most has gone down or come up since the last time.
    fn note(&mut self) {
        let keys = self.keys;
        let is_down = |host: &u32| {
            let state = keys.state(host);
            matches!(state, State::Open | State::HalfOpen | State::Returning)
        };
        self.order.retain(is_down);
        let new = (0..HOSTS)
            .filter(is_down)
            .filter(|host| !self.order.contains(host));
        let new: Vec<_> = new.collect();
        assert!(new.len() <= 1);
        self.order.extend(new);
    }

    fn check(&mut self) {
        // So that it looks again which of them are idle.
        self.clock.advance(101 * MS);
        let snapshot = |host: &u32| self.keys.entry(host).unwrap().snapshot;
        let counting = self.order.iter().copied();
        let counting = counting.filter(|host| !is_idle(&snapshot(host), self.clock));
        let shut_out: Vec<_> = counting.take(self.most).collect();
        let rejecting = self
            .order
            .iter()
            .filter(|host| snapshot(host).wait().is_some());
        for host in rejecting {
            match self.keys.of(*host).acquire() {
                // A share of the calls passes.
                Ok(permit) if permit.is_admitted() => {
                    assert_eq!(snapshot(host).state(), State::Returning);
                    drop(permit);
                }
                answer => {
                    let is_enforced = answer.is_err();
                    assert_eq!(
                        is_enforced,
                        shut_out.contains(host),
                        "{host} of {:?}, {shut_out:?}",
                        self.order
                    );
                    self.seen[usize::from(is_enforced)] += 1;
                }
            }
        }
        for host in 0..HOSTS {
            if self.keys.state(&host) == State::ForcedOpen {
                assert!(self.keys.of(host).acquire().is_err());
            }
        }
    }
}

#[test]
fn those_that_went_down_first_are_shut_out_whatever_happens() {
    let steps = std::env::var("BREAKER_MODEL_STEPS");
    let steps: u64 = steps.map_or(40_000, |steps| steps.parse().expect("a number of steps"));
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    for most in [1, 4] {
        let clock = ManualClock::starting_at(3_600_000);
        let keys = build(&clock).max_shut_out(most).build().unwrap();
        let mut world = World {
            clock: &clock,
            keys: &keys,
            most,
            order: Vec::new(),
            held: Vec::new(),
            random: Random(seed | 1),
            seen: [0; 2],
        };
        for _ in 0..steps / 2 {
            world.step();
            world.note();
            world.check();
        }
        println!("{:?} passed and rejected", world.seen);
        assert!(world.seen.iter().all(|&seen| seen > steps / 10));
    }
}
