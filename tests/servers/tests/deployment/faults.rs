// SPDX-License-Identifier: MIT OR Apache-2.0
//! The faults of the world, and their times.

use std::time::Duration;

use atomic_breaker_steps::{Filter, Store};
use test_support::dice::Dice;
use test_support::faulty_store;
use test_support::operators::{command, let_go};
use tokio::time::{sleep, timeout};

use crate::client::Target;
use crate::concerns::Matter;
use crate::engine::EngineFault;
use crate::host::Health;
use crate::net::{HOSTS, Link, Node, SHOPS, WEBS};
use crate::plan::{LONGEST_BACK, SECOND};
use crate::trace::note;
use crate::waiting;
use crate::world::{INSTANCES, World};

/// A fault, from its beginning to its end.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Host(usize, Health),
    /// Between an instance and something else, in one direction or both.
    Cut {
        instance: usize,
        other: Node,
        there: Link,
        back: Link,
        matters: Vec<Matter>,
    },
    Killed(usize),
    /// The process stops, and goes on afterwards.
    Stopped(usize),
    /// The clock of an instance jumps by so many milliseconds.
    Jump(usize, i32),
    Engine(EngineFault),
    Disk(faulty_store::Fault),
    /// An operator commands what an instance calls, replaces its rules, or retries jobs.
    Operator(usize),
    /// So many calls at once.
    Flood(usize, u32),
    /// Each second a task of a shop begins to hang for good, with the right to a call.
    Hung(usize),
}

fn link(dice: &mut Dice) -> Link {
    match dice.below(4) {
        0 => Link::Refuses,
        1 => Link::Slow(dice.ms(50..4_000)),
        _ => Link::Drops,
    }
}

const fn node(instance: usize) -> Node {
    if instance < WEBS {
        Node::web(instance)
    } else {
        Node::shop(instance - WEBS)
    }
}

fn of_engine() -> Vec<Matter> {
    let mut matters = Matter::ALL_HOSTS.to_vec();
    matters.push(Matter::Fleet);
    matters
}

/// The matters of all calls of an instance.
fn of_instance(instance: usize) -> Vec<Matter> {
    if instance < WEBS {
        return Matter::ALL_SHOPS.to_vec();
    }
    let mut matters = Matter::ALL_HOSTS.to_vec();
    matters.extend([Matter::Shop(instance - WEBS), Matter::Jobs, Matter::Fleet]);
    matters
}

impl Fault {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let instance = dice.below(INSTANCES as u64) as usize;
        match dice.below(22) {
            0..6 => Self::Host(dice.below(HOSTS as u64) as usize, Health::ill(dice)),
            6..9 => Self::cut(instance, dice),
            9 | 10 => Self::Killed(instance),
            11 => Self::Stopped(instance),
            12 | 13 => {
                let back = LONGEST_BACK.as_millis() as u32;
                let ms = match dice.below(3) {
                    0 => -dice.within(1..back).cast_signed(),
                    1 => dice.within(1..100_000).cast_signed(),
                    _ => dice.within(1..20 * 86_400_000).cast_signed(),
                };
                Self::Jump(instance, ms)
            }
            14 | 15 => Self::Engine(EngineFault::draw(dice)),
            16 => Self::Disk(match dice.below(3) {
                0 => faulty_store::Fault::Error("no space left on the device".to_owned()),
                1 => faulty_store::Fault::Late(dice.ms(100..8_000)),
                _ => faulty_store::Fault::Silence,
            }),
            17 | 18 => Self::Operator(instance),
            19 | 20 => Self::Hung(dice.within(WEBS as u32..INSTANCES as u32) as usize),
            _ => Self::Flood(instance, dice.within(20..200)),
        }
    }

    fn cut(instance: usize, dice: &mut Dice) -> Self {
        let (other, matters) = if instance < WEBS {
            let shop = dice.below(SHOPS as u64) as usize;
            (Node::shop(shop), vec![Matter::Shop(shop)])
        } else {
            match dice.below(HOSTS as u64 + 2) as usize {
                host @ 0..HOSTS => (Node::host(host), vec![Matter::Host(host)]),
                HOSTS => (Node::ENGINE, of_engine()),
                _ => (Node::DB, vec![Matter::Jobs]),
            }
        };
        let (there, back) = match dice.below(3) {
            0 => (link(dice), Link::Open),
            1 => (Link::Open, link(dice)),
            _ => (link(dice), link(dice)),
        };
        Self::Cut {
            instance,
            other,
            there,
            back,
            matters,
        }
    }

    pub(crate) fn matters(&self) -> Vec<Matter> {
        match self {
            Self::Host(host, _) => vec![Matter::Host(*host)],
            Self::Cut { matters, .. } => matters.clone(),
            Self::Killed(instance)
            | Self::Stopped(instance)
            | Self::Jump(instance, _)
            | Self::Operator(instance) => of_instance(*instance),
            Self::Engine(_) => of_engine(),
            Self::Disk(_) => vec![Matter::Jobs],
            Self::Hung(_) => vec![Matter::Host(waiting::HOST), Matter::Fleet],
            Self::Flood(..) => Vec::new(),
        }
    }

    /// Happens after a while, and lasts for a while.
    pub(crate) async fn happen(self, world: &'static World, after: Duration, lasts: Duration) {
        sleep(after).await;
        let matters = self.matters();
        note!("begins: {self:?}");
        world.concerns.begin(&matters);
        self.begin(world);
        match self {
            Self::Hung(instance) => drop(timeout(lasts, hang(world, instance)).await),
            _ => sleep(lasts).await,
        }
        self.end(world);
        world.concerns.end(&matters);
        note!("ends: {self:?}");
    }

    fn begin(&self, world: &'static World) {
        match self {
            Self::Host(host, health) => world.hosts[*host].set(*health),
            Self::Cut {
                instance,
                other,
                there,
                back,
                ..
            } => {
                world.net.set(node(*instance), *other, *there);
                world.net.set(*other, node(*instance), *back);
            }
            Self::Killed(instance) => world.kill(*instance),
            Self::Stopped(instance) => stop(world, *instance, true),
            Self::Jump(instance, ms) => jump(world, *instance, *ms),
            Self::Engine(fault) => fault.begin(world),
            Self::Disk(fault) => world.disk.set(Some(fault.clone())),
            Self::Operator(instance) => operate(world, *instance),
            Self::Flood(instance, calls) => flood(world, *instance, *calls),
            Self::Hung(_) => {}
        }
    }

    fn end(&self, world: &'static World) {
        match self {
            Self::Host(host, _) => world.hosts[*host].set(Health::Well),
            Self::Cut {
                instance, other, ..
            } => {
                world.net.set(node(*instance), *other, Link::Open);
                world.net.set(*other, node(*instance), Link::Open);
            }
            Self::Killed(instance) => {
                if world.instance(*instance).is_none() {
                    world.start(*instance);
                }
            }
            Self::Stopped(instance) => stop(world, *instance, false),
            Self::Jump(..) | Self::Flood(..) | Self::Hung(_) => {}
            Self::Engine(fault) => fault.end(world),
            Self::Disk(_) => world.disk.set(None),
            Self::Operator(instance) => let_all_go(world, *instance),
        }
    }
}

fn stop(world: &World, instance: usize, is_stopped: bool) {
    if let Some(instance) = world.instance(instance) {
        instance.life.stop(is_stopped);
    }
}

fn jump(world: &World, instance: usize, ms: i32) {
    let Some(instance) = world.instance(instance) else {
        return;
    };
    instance.clock.jump(ms);
    if ms > 0 {
        instance.client.tries().iter().for_each(|it| it.jump());
    }
}

fn flood(world: &'static World, instance: usize, calls: u32) {
    for call in 0..calls as usize {
        let target = if instance < WEBS {
            Target::Shop(call % SHOPS)
        } else {
            Target::Host(call % HOSTS)
        };
        world.call(instance, target);
    }
}

async fn hang(world: &'static World, instance: usize) {
    loop {
        let instance = world.instance(instance);
        if let Some(shop) = instance
            .as_ref()
            .and_then(|instance| instance.shop.as_ref())
        {
            shop.waiting.hang();
        }
        sleep(SECOND).await;
    }
}

fn operate(world: &'static World, instance: usize) {
    let Some(instance) = world.instance(instance) else {
        return;
    };
    let guard = instance.client.guard();
    let rules = world.plan.rules;
    match world.draw(|dice| dice.below(5)) {
        0 => {
            let failures = world.draw(|dice| dice.within(1..world.plan.trips_after() + 1));
            guard
                .set_breaker_config(rules.consecutive_failures(failures))
                .expect("rules that fit");
        }
        1 => drop(tokio::spawn(retry_jobs(world))),
        _ => {
            let place = world.draw(|dice| dice.below(3)) as usize;
            let target = if instance.shop.is_some() {
                Target::Host(place)
            } else {
                Target::Shop(place)
            };
            let _ = guard.hosts().command(&target.origin(), |breaker| {
                world.draw(|dice| command(breaker, dice));
            });
        }
    }
    instance
        .client
        .tries()
        .iter()
        .for_each(|tries| tries.count_anew());
}

/// An operator retries what waits.
async fn retry_jobs(world: &'static World) {
    let jobs = world
        .jobs
        .list(&Filter::default(), u32::MAX)
        .await
        .expect("in memory");
    for job in jobs.iter().filter(|job| !job.status.is_final()) {
        if world.jobs.retry_now(job.id).await.expect("in memory") {
            note!("an operator retries {}", job.key);
            world.promises.retried(job.key.clone());
        }
    }
}

/// Ends whatever operators have done.
fn let_all_go(world: &World, instance: usize) {
    let Some(instance) = world.instance(instance) else {
        return;
    };
    let guard = instance.client.guard();
    guard
        .set_breaker_config(world.plan.rules)
        .expect("rules that fit");
    let keys: Vec<_> = guard
        .hosts()
        .entries()
        .map(|entry| entry.key.clone())
        .collect();
    for key in keys {
        let _ = guard.hosts().command(&*key, |breaker| let_go(breaker));
    }
    instance
        .client
        .tries()
        .iter()
        .for_each(|tries| tries.count_anew());
}
