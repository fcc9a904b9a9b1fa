// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes that hang, in instances that make no other call: the right to probe ends with the lease of the probe.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seat};
use atomic_breaker_server::{Breaker, Config, Permit, State, TokioClock, word::NativeWord};
use atomic_breaker_std::KeptRules;

use super::support::{Ahead, GRACE_MS, STEP_MS, World, rules};

const LEASE_MS: u64 = 2_000;
/// The bound that the page states, and the next call.
const BOUND_MS: u64 = LEASE_MS + GRACE_MS / 2 + STEP_MS;

type OfWorld = Breaker<Ahead, NativeWord, (), Seat>;

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Succeeds,
    /// It never returns, and its instance makes no other call.
    Hangs,
    /// Its caller leaves after so many steps; the next call follows.
    IsLeft(u8),
}

/// Instances whose calls differ.
struct Scene {
    world: World,
    /// The fates of the next calls of each instance.
    next: Vec<Vec<Call>>,
    calls: Vec<Option<(Call, Permit<Arc<OfWorld>>)>>,
    /// The time at which the first probe began.
    probed_at: Option<u64>,
    /// The time at which each instance first had a success.
    served_at: Vec<Option<u64>>,
}

impl Scene {
    /// An outage that has just ended. `next` are the first probes, in whichever instance; all later calls succeed.
    async fn new(rules: Config) -> Self {
        let rules = rules.probe_lease(Duration::from_millis(LEASE_MS));
        let mut world = World::with_rules(5, FleetConfig::new(3), rules).await;
        world.trip().await;
        world.idle(9_000).await;
        Self {
            world,
            next: vec![Vec::new(); 5],
            calls: std::iter::repeat_with(|| None).take(5).collect(),
            probed_at: None,
            served_at: vec![None; 5],
        }
    }

    /// Lets all call for so long; the instance that probes first does so as `first` says, the second one as `second`.
    async fn run(&mut self, ms: u64, mut probes: Vec<Vec<Call>>) {
        probes.reverse();
        for _ in 0..ms / STEP_MS {
            for who in 0..5 {
                self.step(who, &mut probes);
            }
            self.world.idle(STEP_MS).await;
        }
    }

    fn step(&mut self, who: usize, probes: &mut Vec<Vec<Call>>) {
        match self.calls[who].take() {
            Some((Call::IsLeft(0), permit)) => drop(permit),
            Some((Call::IsLeft(left), permit)) => {
                self.calls[who] = Some((Call::IsLeft(left - 1), permit));
                return;
            }
            Some(hung) => {
                self.calls[who] = Some(hung);
                return;
            }
            None => {}
        }
        let Ok(permit) = Permit::acquire(Arc::clone(&self.world.processes[who].breaker)) else {
            return;
        };
        self.probed_at.get_or_insert(self.world.now_ms);
        if self.next[who].is_empty() && permit.is_probe() {
            self.next[who] = probes.pop().unwrap_or_default();
            self.next[who].reverse();
        }
        match self.next[who].pop().unwrap_or(Call::Succeeds) {
            Call::Succeeds => {
                permit.success();
                self.served_at[who].get_or_insert(self.world.now_ms);
            }
            held => self.calls[who] = Some((held, permit)),
        }
    }

    /// The instances whose calls succeed are served after so long at most.
    fn are_served_within(&self, ms: u64) {
        let since = self.probed_at.expect("a probe");
        for (who, at) in self.served_at.iter().enumerate() {
            if self.calls[who].is_none() && self.next[who].is_empty() {
                let late = at.unwrap_or(u64::MAX) - since;
                assert!(late <= ms, "{who}: {late} ms, {:?}", self.world);
            }
        }
        assert!(self.world.all_are(State::Closed), "{:?}", self.world);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_keeps_the_others_out_for_its_lease() {
    let mut scene = Scene::new(rules()).await;
    scene.run(60_000, vec![vec![Call::Hangs]]).await;
    scene.are_served_within(BOUND_MS);
}

/// Three times as long as the right lasts without one.
#[tokio::test(start_paused = true)]
async fn a_probe_under_way_keeps_the_others_out_until_it_ends() {
    let mut scene = Scene::new(rules()).await;
    scene.run(60_000, vec![vec![Call::IsLeft(150)]]).await;
    let since = scene.probed_at.expect("a probe");
    let first = scene.served_at.iter().flatten().min().expect("a success");
    assert!(first - since >= 1_500, "{} ms", first - since);
}

#[tokio::test(start_paused = true)]
async fn two_probes_that_hang_keep_the_others_out_for_two_leases() {
    let mut scene = Scene::new(rules()).await;
    let hang = vec![Call::Hangs];
    scene.run(60_000, vec![hang.clone(), hang]).await;
    scene.are_served_within(2 * BOUND_MS);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_after_one_of_several_keeps_the_others_out_for_its_lease() {
    let mut scene = Scene::new(rules().close_after(3)).await;
    let one = vec![Call::Succeeds, Call::Hangs];
    scene.run(60_000, vec![one]).await;
    // The first success, and the lease of the second probe.
    scene.are_served_within(BOUND_MS + 3 * STEP_MS);
}

#[tokio::test(start_paused = true)]
async fn callers_that_always_leave_early_keep_the_others_out_for_one_lease() {
    let mut scene = Scene::new(rules()).await;
    scene.run(60_000, vec![vec![Call::IsLeft(10); 1_000]]).await;
    scene.are_served_within(BOUND_MS);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_succeeds_after_its_lease_closes_all() {
    let mut scene = Scene::new(rules()).await;
    // Until it probes, with all others idle from then on.
    while scene.probed_at.is_none() {
        scene.run(STEP_MS, vec![vec![Call::Hangs]]).await;
    }
    scene.world.idle(3 * LEASE_MS).await;
    let hung = scene.calls.iter_mut().find_map(Option::take);
    let (_, permit) = hung.expect("a probe under way");
    permit.success();
    scene.world.settle().await;
    assert!(scene.world.all_are(State::Closed), "{:?}", scene.world);
}

#[tokio::test(start_paused = true)]
async fn rules_set_while_in_use_apply_to_the_right_to_probe() {
    let engine = InProcess::new();
    let joined: Vec<_> = (0..2)
        .map(|_| Joined::new(engine.clone(), FleetConfig::new(2)).unwrap())
        .collect();
    let breakers: Vec<_> = joined
        .iter()
        .map(|joined| {
            let seat = joined.seat("payments").unwrap();
            let breaker = Breaker::builder(rules(), TokioClock)
                .observer(seat.clone())
                .build_adjustable(KeptRules::new());
            let breaker = Arc::new(breaker);
            seat.take(Arc::clone(&breaker));
            breaker
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    for breaker in &breakers {
        for _ in 0..3 {
            breaker.acquire().unwrap().failure();
        }
        let lease = Duration::from_millis(LEASE_MS);
        breaker.set_config(rules().probe_lease(lease)).unwrap();
    }
    let (mut hung, mut waited) = (None, 0);
    for _ in 0..6_000 {
        tokio::time::sleep(Duration::from_millis(STEP_MS)).await;
        waited += u64::from(hung.is_some()) * STEP_MS;
        for (who, breaker) in breakers.iter().enumerate() {
            let Some((first, _)) = &hung else {
                hung = breaker.acquire().ok().map(|permit| (who, permit));
                continue;
            };
            if *first != who
                && breaker
                    .acquire()
                    .is_ok_and(|permit| permit.success().is_some())
            {
                assert!(waited <= BOUND_MS, "{waited} ms");
                return;
            }
        }
    }
    panic!("shut out for good");
}
