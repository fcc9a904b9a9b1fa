// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories of calls, commands and panics against a map without bound: no key's state is another's, what is
//! needed stays, what is done with goes.
//!
//! `BREAKER_MODEL_STEPS` sets how many steps are taken (a million unless set), `BREAKER_SEED` repeats them; the order in
//! which the registry looks at slots is another one in each run.

mod steps;
mod world;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::panic;
use std::sync::Once;

use atomic_breaker_server::{
    Clock, Config, KeyedObserver, ManualClock, Outcome, Registry, Rejected, Rules, Transition,
};

use super::SECOND;
use super::panicking::Key;
use super::threads::{Random, seed};
use world::{World, view};

const CAPACITY: u32 = 48;
const KEYS: u64 = 160;
const LIMIT: u32 = 3;

/// The common rules, and those of keys that have some of their own.
const RULES: Config = Config::new()
    .consecutive_failures(LIMIT)
    .open_for(SECOND)
    .exponential(2, SECOND.saturating_mul(8))
    .probes(2)
    .close_after(2)
    .probe_lease(SECOND.saturating_mul(5));

/// The rules of a class, of which there are two that take turns.
const STRICT: [Config; 2] = [
    RULES.consecutive_failures(2).probe_lease(SECOND),
    RULES
        .consecutive_failures(1)
        .open_for(SECOND.saturating_mul(3))
        .probes(1),
];

/// Returns whether a key is of the class with rules of its own.
const fn is_strict(key: u32) -> bool {
    key % 5 == 1
}

thread_local! {
    /// The number of readings after which the clock panics, of notifications after which the observer does, and of keys
    /// after which the function that knows their class does.
    static CLOCK: Cell<Option<u32>> = const { Cell::new(None) };
    static OBSERVER: Cell<Option<u32>> = const { Cell::new(None) };
    static CLASS: Cell<Option<u32>> = const { Cell::new(None) };
}

fn pass(armed: &'static std::thread::LocalKey<Cell<Option<u32>>>, what: &str) {
    match armed.get() {
        Some(0) => {
            armed.set(None);
            panic!("armed: in the {what}");
        }
        left => armed.set(left.map(|left| left - 1)),
    }
}

struct Ticking<'a>(&'a ManualClock);

impl Clock for Ticking<'_> {
    fn now_ms(&self) -> u32 {
        pass(&CLOCK, "clock");
        self.0.now_ms()
    }
}

struct Panicking;

impl KeyedObserver<Key> for Panicking {
    fn transition(&self, _: &Key, _: &Transition) {
        pass(&OBSERVER, "observer");
    }
    fn rejected(&self, _: &Key, _: Rejected) {
        pass(&OBSERVER, "observer");
    }
    fn outcome(&self, _: &Key, _: Outcome) {
        pass(&OBSERVER, "observer");
    }
    fn cancelled(&self, _: &Key) {
        pass(&OBSERVER, "observer");
    }
}

type Hosts<'a> = Registry<Key, Ticking<'a>, (), Panicking>;

/// Panics that are meant are not shown.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<String>();
            let text = text.map(String::as_str);
            let text = text.or_else(|| info.payload().downcast_ref::<&str>().copied());
            if !text.is_some_and(|text| text.starts_with("armed")) {
                usual(info);
            }
        }));
    });
}

#[test]
fn a_registry_behaves_like_an_unbounded_map_that_forgets_healthy_keys() {
    quieten();
    let steps = std::env::var("BREAKER_MODEL_STEPS");
    let steps: u64 = steps.map_or(1_000_000, |steps| steps.parse().expect("a number of steps"));
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    // An hour of uptime, as no time is told from before the clock's start.
    let clock = ManualClock::starting_at(3_600_000);
    let hosts = Registry::<Key>::builder(RULES)
        .rules_by([(true, STRICT[0])], |key: &Key| {
            pass(&CLASS, "class");
            is_strict(key.0)
        })
        .clock(Ticking(&clock))
        .observer(Panicking)
        .capacity(CAPACITY as usize)
        .build()
        .unwrap();
    let mut world = World {
        clock: &clock,
        hosts: &hosts,
        rules: Rules::new(RULES),
        strict: Rules::new(STRICT[0]),
        own: HashSet::new(),
        lives: HashMap::new(),
        held: Vec::new(),
        born: 0,
        evicted: 0,
        random: Random(seed | 1),
        panics: 0,
    };
    for step in 0..steps {
        world.step();
        if step % 1_000 == 0 {
            let listed: Vec<_> = hosts.entries().collect();
            assert_eq!(listed.len(), world.lives.len());
            for entry in listed {
                let life = &world.lives[&entry.key.0];
                let key = entry.key.0;
                assert_eq!(view(entry.snapshot, life.since), world.view(key, life.word));
                assert_eq!(hosts.config_of(&Key(key)), *world.rules_of(key).config());
            }
        }
    }
    println!(
        "{} lives, {} panics, {:?}",
        world.born,
        world.panics,
        hosts.stats()
    );
    assert!(world.born > steps / 1_000 && u64::from(world.panics) > steps / 10_000);
    world.all_go();
}
