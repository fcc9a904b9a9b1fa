// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances, their engine, and the time between them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use atomic_breaker_fleet::{
    Ask, FleetConfig, InstanceId, Name,
    contract::{Action, Context, Input, Ledger, Local, Member},
};
use atomic_breaker_server::{Breaker, Config, ManualClock};

use crate::load::Load;

/// This many instances make one call each millisecond in total.
const PER_CALL: usize = 1_000;
pub(crate) const FAILS_MS: u64 = 5_000;
/// The time for which the server is down by default.
pub(crate) const DOWN_MS: u64 = 60_000;
pub(crate) const BACK_MS: u64 = FAILS_MS + DOWN_MS;
/// From the server's return to the end.
const CALM_MS: u64 = 40_000;
/// The longest time from an instance to the engine or back; a message to all takes up to ten times as long.
const WAY_MS: u64 = 2;

pub(crate) struct World {
    now: u64,
    back_ms: u64,
    instances: Vec<Instance>,
    ledger: Ledger,
    name: Name,
    /// Messages, and when they arrive.
    arrivals: BTreeMap<u64, Vec<(usize, Input)>>,
    due: BTreeSet<(u64, usize)>,
    told: Told,
}

struct Instance {
    breaker: Breaker<ManualClock>,
    member: Option<Member>,
    due: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Told {
    /// Calls made while the server was down, probes included.
    pub(crate) wasted: u64,
    /// Of these, probes.
    pub(crate) probes: u64,
    pub(crate) votes: u64,
    pub(crate) bids: u64,
    pub(crate) requests: u64,
    /// From the server's return until the last rejection.
    pub(crate) back_ms: u64,
    /// The number of calls wasted up to a time, every 100 ms from the first one.
    pub(crate) so_far: Vec<(u64, u32)>,
}

impl World {
    pub(crate) fn new(instances: u32, quorum: Option<u32>, down_ms: u64) -> Self {
        let instances = (0..instances).map(|seed| {
            let rules = Config::new()
                .consecutive_failures(5)
                .open_for(Duration::from_secs(1))
                .exponential(2, Duration::from_secs(30))
                .jitter_percent(20)
                .seed(seed.wrapping_mul(0x9E37_79B9));
            let member = |quorum| Member::new(&FleetConfig::new(quorum), &rules, seed.into());
            Instance {
                breaker: Breaker::new(rules, ManualClock::new()),
                member: quorum.map(member),
                due: None,
            }
        });
        Self {
            now: 0,
            back_ms: FAILS_MS + down_ms,
            instances: instances.collect(),
            ledger: Ledger::default(),
            name: Name::new("server").expect("a short name"),
            arrivals: BTreeMap::new(),
            due: BTreeSet::new(),
            told: Told::default(),
        }
    }

    pub(crate) fn run(&mut self, load: &mut Load) -> Told {
        while self.now < self.back_ms + CALM_MS {
            for (who, input) in self.arrivals.remove(&self.now).unwrap_or_default() {
                self.step(load, who, input);
            }
            while let Some(&(due, who)) = self.due.first() {
                if due > self.now {
                    break;
                }
                self.step(load, who, Input::Time);
            }
            for _ in 0..self.instances.len().div_ceil(PER_CALL) {
                let who = load.next();
                self.call(load, who);
            }
            if self.now.is_multiple_of(100) && self.told.wasted > 0 {
                let wasted = u32::try_from(self.told.wasted).unwrap_or(u32::MAX);
                self.told.so_far.push((self.now, wasted));
            }
            self.now += 1;
        }
        std::mem::take(&mut self.told)
    }

    fn call(&mut self, load: &mut Load, who: usize) {
        let is_down = (FAILS_MS..self.back_ms).contains(&self.now);
        let instance = &self.instances[who];
        instance.breaker.clock().set_ms(self.now as u32);
        let Ok(permit) = instance.breaker.acquire() else {
            if self.now >= self.back_ms {
                self.told.back_ms = self.now - self.back_ms;
            }
            self.step(load, who, Input::Local(Local::Rejected));
            return;
        };
        let made = if is_down {
            self.told.wasted += 1;
            self.told.probes += u64::from(permit.is_probe());
            permit.failure()
        } else {
            permit.success()
        };
        if let Some(local) = made.as_ref().and_then(Local::from_transition) {
            self.step(load, who, Input::Local(local));
        }
    }

    fn step(&mut self, load: &mut Load, who: usize, input: Input) {
        let instance = &mut self.instances[who];
        let Some(member) = &mut instance.member else {
            return;
        };
        instance.breaker.clock().set_ms(self.now as u32);
        let now = Context::new(self.now, true, &instance.breaker.snapshot());
        let actions = member.step(now, input);
        let due = member.due_ms().map(|due| due.max(self.now + 1));
        if let Some(before) = instance.due {
            self.due.remove(&(before, who));
        }
        self.due.extend(due.map(|due| (due, who)));
        instance.due = due;
        for action in actions {
            if let Action::Ask(ask) = action {
                self.ask(load, who, ask);
            } else {
                action.apply_to(&self.instances[who].breaker);
            }
        }
    }

    /// The delays of both directions are added: the engine is called at once and its response arrives later.
    fn ask(&mut self, load: &mut Load, who: usize, ask: Ask) {
        self.told.requests += 1;
        self.told.votes += u64::from(matches!(ask, Ask::Vote { .. }));
        self.told.bids += u64::from(matches!(ask, Ask::Bid { .. }));
        let from = InstanceId::new(who as u128);
        let mark = load.draw();
        let (answer, published) = self.ledger.ask(self.now, mark, from, &self.name, ask);
        let reply = Input::Answer {
            ask,
            asked_ms: self.now,
            answer: Some(answer),
        };
        let at = self.now + 1 + load.draw() % WAY_MS;
        self.arrivals.entry(at).or_default().push((who, reply));
        if let Some(notice) = published {
            for other in 0..self.instances.len() {
                let at = self.now + 1 + load.draw() % (10 * WAY_MS);
                let message = (other, Input::Notice(notice));
                self.arrivals.entry(at).or_default().push(message);
            }
        }
    }
}
