// SPDX-License-Identifier: MIT OR Apache-2.0
//! Days of keys that fail and recover, with two probers that ping them, callers that leave, and operators who do anything: a
//! key that fails is shut out, and one that is well is served soon after. Seeds are random and printed.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Clock, Config, Failure, Guard, Outcome, Prober, Registry, RegistryBuilder, State,
    TokioClock,
};
use tokio::time::{Instant, sleep, timeout};

use super::{MS, SECOND};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const KEYS: u32 = 8;

/// Tokio's clock, which steps back now and then.
#[derive(Default)]
struct Stepping(AtomicU32);

impl Clock for &Stepping {
    fn now_ms(&self) -> u32 {
        TokioClock.now_ms().wrapping_sub(self.0.load(Relaxed))
    }
}

type Keys<'a> = Registry<u32, &'a Stepping>;

/// In the worst case a key has lied: 64 pauses of a second, then the turns of eight keys at two at once, whose pings hang for
/// three seconds, one more, and the demanded pause of 30 s and a fifth that may come first.
const BACK: Duration = Duration::from_secs(64 + 12 + 3 + 1 + 36);

/// Disturbs the keys meanwhile.
fn disturb(keys: &Keys<'_>, clock: &Stepping, rules: &[Config], demands: bool) {
    let key = fastrand::u32(..KEYS);
    let rules = *fastrand::choice(rules).unwrap();
    let act = fastrand::u32(..12);
    // A registry that is full has no room for a command.
    let _ = keys.command(&key, |it| match act {
        0 => it.reset(),
        1 => it.trip(),
        2 if demands => it.trip_for(fastrand::u32(..30) * SECOND),
        3 => it.force_open(),
        4 => it.release(),
        5 => it.disable(),
        6 => it.enable(),
        7 => it.probe_now(),
        _ => None,
    });
    match act {
        8 => drop(keys.set_config(rules)),
        9 => drop(keys.set_config_of(&key, rules)),
        10 => drop(clock.0.fetch_add(fastrand::u32(..70_000), Relaxed)),
        11 => keys
            .enforcement()
            .set_percent(fastrand::u8(..=100))
            .unwrap(),
        _ => {}
    }
}

/// Lets go of all keys that operators hold, and removes the keys' own rules.
fn settle(keys: &Keys<'_>, rules: Config) {
    for key in 0..KEYS {
        keys.command_if_present(&key, |it| (it.release(), it.enable()));
        keys.clear_config_of(&key);
    }
    keys.set_config(rules).unwrap();
    keys.enforcement().set_percent(100).unwrap();
}

async fn days(
    rules: &[Config],
    demands: bool,
    build: impl Fn(RegistryBuilder<u32, &'static Stepping>) -> RegistryBuilder<u32, &'static Stepping>,
) {
    let seed = fastrand::u64(..);
    println!("seed {seed}, {rules:?}");
    fastrand::seed(seed);
    let clock: &'static Stepping = Box::leak(Box::default());
    let keys: &'static Keys<'static> = build(Registry::<u32>::builder(rules[0]).clock(clock))
        .build()
        .unwrap()
        .leak();
    let is_ill: Vec<_> = (0..KEYS).map(|_| Cell::new(false)).collect();
    let pings = Cell::new(0_u64);
    let ping = async |key: Arc<u32>, trips: u8| {
        assert!(trips > 0);
        pings.set(pings.get() + 1);
        if !is_ill[*key as usize].get() {
            sleep(fastrand::u32(..2_000) * MS).await;
            return Ok(());
        }
        match fastrand::u32(..5) {
            0 => pending().await,
            1 => panic!("on purpose"),
            // It lies.
            2 => Ok(()),
            _ => Err(()),
        }
    };
    let prober = Prober::every(SECOND).time_limit(3 * SECOND);
    let reached = RefCell::new([0_u32; KEYS as usize]);
    let caller = async || loop {
        sleep(fastrand::u32(1..200) * MS).await;
        let key = fastrand::u32(..KEYS);
        let Ok(permit) = keys.of(key).acquire() else {
            continue;
        };
        reached.borrow_mut()[key as usize] += u32::from(permit.is_admitted());
        // Some take their time, and some of these leave.
        let takes = fastrand::u32(..1_000) * MS;
        if fastrand::u32(..8) == 0 && timeout(takes / 2, sleep(takes)).await.is_err() {
            continue;
        }
        let outcome = match (is_ill[key as usize].get(), fastrand::u32(..10)) {
            (false, _) => Outcome::Success,
            (true, 0) if demands => Failure::tripping_for(fastrand::u32(1..30) * SECOND).into(),
            (true, _) => Failure::new().into(),
        };
        permit.report(outcome);
    };
    let scene = async {
        for round in 0..10 {
            let disturbed = fastrand::bool();
            for ill in &is_ill {
                ill.set(fastrand::bool());
            }
            let end = Instant::now() + fastrand::u32(1..20) * MINUTE;
            *reached.borrow_mut() = [0; KEYS as usize];
            while Instant::now() < end {
                sleep(fastrand::u32(..5_000) * MS).await;
                if disturbed {
                    disturb(keys, clock, rules, demands);
                } else if fastrand::u32(..20) == 0 {
                    let ill = &is_ill[fastrand::usize(..KEYS as usize)];
                    ill.set(!ill.get());
                }
            }
            settle(keys, rules[0]);
            for ill in &is_ill {
                ill.set(false);
            }
            sleep(BACK).await;
            for _ in 0..600 {
                for key in 0..KEYS {
                    let entry = keys.entry(&key);
                    let state = entry
                        .as_ref()
                        .map_or(State::Closed, |it| it.snapshot.state());
                    assert!(
                        matches!(state, State::Closed | State::Returning),
                        "{round}: {key} {entry:?}"
                    );
                }
                sleep(SECOND / 10).await;
            }
            // Those that fail are shut out.
            is_ill[0].set(true);
            for _ in 0..20 {
                let _ = keys.of(0).call(|| Err::<(), _>("no answer"));
            }
            assert_eq!(keys.state(&0), State::Open, "{round}");
        }
    };
    let (one, another) = (
        keys.run_prober(prober, 2, &ping),
        keys.run_prober(prober, 1, &ping),
    );
    tokio::select! {
        never = one => never,
        never = another => never,
        () = caller() => {}
        () = caller() => {}
        () = scene => {}
    }
    assert!(pings.get() > 100);
}

const RULES: Config = Config::new().consecutive_failures(3).open_for(HOUR);

/// Open for an hour.
#[tokio::test(start_paused = true)]
async fn with_many_rules() {
    let several = RULES.probes(3).close_after(5);
    let rules = [
        RULES,
        several,
        RULES
            .open_for(SECOND)
            .exponential(2, 30 * SECOND)
            .jitter_percent(20),
        RULES.gradual_return(10, 10 * SECOND),
        several
            .gradual_return(10, 10 * SECOND)
            .probe_lease(5 * SECOND),
    ];
    for first in 0..rules.len() {
        let mut rules = rules;
        rules.swap(0, first);
        days(&rules, false, |it| it).await;
    }
}

/// A key that is open for longer than was demanded is pinged no earlier.
#[tokio::test(start_paused = true)]
async fn with_demanded_pauses() {
    let rules = RULES.open_for(20 * SECOND);
    days(&[rules, rules.probes(3).close_after(5)], true, |it| it).await;
}

#[tokio::test(start_paused = true)]
async fn with_fewer_slots_than_keys() {
    let rules = [RULES, RULES.open_for(10 * SECOND)];
    days(&rules, false, |it| it.capacity(5)).await;
}

#[tokio::test(start_paused = true)]
async fn with_a_cap_on_what_is_shut_out() {
    days(&[RULES], false, |it| it.max_shut_out(2)).await;
}
