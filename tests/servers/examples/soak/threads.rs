// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that threads call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_server::{
    Breaker, Config, Guard, OnTransition, Ratio, Registry, SlidingRatio, StdClock, Transition,
};
use test_support::dice::Dice;

use crate::IS_OVER;
use crate::weather::{Part, RULES};

const THREADS: u32 = 2;
/// Keys of the resource. Others come once, and fail: far more than the registry has room for.
pub(crate) const KEYS: u64 = 16;
const ROOM: usize = 64;

pub(crate) fn start(seed: u64) -> Vec<Arc<Part>> {
    vec![breaker(seed), ratio(seed ^ 1), registry(seed ^ 2)]
}

/// Calls in turn, with a pause now and then so that the other parts have the processors, too.
fn run(seed: u64, mut call: impl FnMut(&mut Dice) + Send + 'static) {
    thread::spawn(move || {
        let mut dice = Dice::new(seed);
        while !IS_OVER.load(Ordering::Relaxed) {
            for _ in 0..100 {
                call(&mut dice);
            }
            thread::sleep(Duration::from_micros(200 + dice.below(2_000)));
        }
    });
}

/// The transitions that were told, each in the order of its epoch.
static TOLD: AtomicU64 = AtomicU64::new(0);

fn tell(_: &Transition) {
    TOLD.fetch_add(1, Ordering::SeqCst);
}

/// One with permits that are dropped, and reports that come from other threads.
fn breaker(seed: u64) -> Arc<Part> {
    let part = Part::start("breaker", THREADS, seed);
    let breaker = Breaker::builder(RULES, StdClock)
        .observer(OnTransition(tell))
        .build();
    let breaker = Arc::new(breaker);
    for thread in 0..THREADS {
        let (part, breaker) = (Arc::clone(&part), Arc::clone(&breaker));
        run(seed + u64::from(thread) * 7, move |dice| {
            let asked = Instant::now();
            let Ok(permit) = breaker.acquire() else {
                return part.rejected();
            };
            part.admitted(asked, permit.is_probe());
            match (dice.below(20), part.reach()) {
                // A caller that leaves: its failure is not known.
                (0, true) => drop(permit),
                (_, true) => drop(permit.success()),
                (_, false) => drop(permit.failure()),
            }
            let (told, epoch) = (TOLD.load(Ordering::SeqCst), breaker.snapshot().epoch());
            let ahead = u64::from(epoch).wrapping_sub(told) % 512;
            if (8..504).contains(&ahead) {
                part.broke(&format!("{told} transitions were told, at epoch {epoch}"));
            }
        });
    }
    part
}

/// One that trips on a share of failures within a time.
fn ratio(seed: u64) -> Arc<Part> {
    const HALF: Ratio = Ratio::percent(50)
        .within(Duration::from_secs(1))
        .min_calls(10);
    const OF_CALLS: Config = RULES.failure_ratio(HALF);
    let part = Part::start("ratio", THREADS, seed);
    let tally = SlidingRatio::<_, 4>::by(StdClock);
    let breaker = Arc::new(Breaker::builder(OF_CALLS, StdClock).tally(tally).build());
    for thread in 0..THREADS {
        let (part, breaker) = (Arc::clone(&part), Arc::clone(&breaker));
        run(seed + u64::from(thread) * 7, move |_| {
            let asked = Instant::now();
            let Ok(permit) = breaker.acquire() else {
                return part.rejected();
            };
            part.admitted(asked, permit.is_probe());
            if part.reach() {
                permit.success();
            } else {
                permit.failure();
            }
        });
    }
    part
}

/// Keys come and go beside those of the resource.
fn registry(seed: u64) -> Arc<Part> {
    let part = Part::start("registry", THREADS, seed);
    let keys: Registry<u64> = Registry::builder(RULES)
        .capacity(ROOM)
        .build()
        .expect("rules that fit");
    let keys = Arc::new(keys);
    for thread in 0..THREADS {
        let (part, keys) = (Arc::clone(&part), Arc::clone(&keys));
        run(seed + u64::from(thread) * 7, move |dice| {
            if dice.percent(10) {
                let once = KEYS + dice.below(u64::MAX - KEYS);
                let _ = keys
                    .of(once)
                    .call(|| Err::<(), _>("503 Service Unavailable"));
            }
            let key = dice.below(KEYS);
            let called = keys.of(key).call(|| {
                if part.reach() {
                    Ok(())
                } else {
                    Err("503 Service Unavailable")
                }
            });
            if called.is_err_and(|error| error.rejected().is_some()) {
                part.rejected();
            }
            let held = keys.stats().keys;
            if held > ROOM {
                part.broke(&format!("{held} keys in a registry for {ROOM}"));
            }
        });
    }
    part
}
