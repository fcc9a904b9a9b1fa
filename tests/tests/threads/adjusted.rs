// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of all kinds are set at random on one breaker with a memory of calls, while many callers are under way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker::{Config, Failure, LastCalls, ManualClock, Outcome, Ratio, State};
use atomic_breaker_std::{AdjustableBreaker, Breaker, KeptRules};
use tests::random::{Random, SEED};
use tests::words::Contended;

use super::audit::{Cell, Narrow, contended};
use super::rounds;
use atomic_breaker::word::AtomicU64 as Wide;

const CALLERS: u64 = 4;
const TICK: Duration = Duration::from_millis(8);
/// The longest open time, lease and return.
const OPEN: Duration = TICK.saturating_mul(32);
const LEASE: Duration = TICK.saturating_mul(16);
const RETURN: Duration = TICK.saturating_mul(16);

type Adjusted<'a, W> = AdjustableBreaker<&'a ManualClock, Contended<W>, LastCalls<W>>;

/// Rules of any kind.
fn any(random: &mut Random) -> Config {
    let ticks = |random: &mut Random, most: u64| TICK * (1 + random.below(most) as u32);
    let failures = 1 + random.below(6) as u32;
    let calls = 2 + random.below(20) as u32;
    let ratio = Ratio::percent(1 + random.below(100) as u32).of_last(calls);
    let mut config = Config::new()
        .open_for(ticks(random, 8))
        .probe_lease(ticks(random, 16))
        .cancel_limit(TICK * random.below(8) as u32);
    config = match random.below(3) {
        0 => config.consecutive_failures(failures),
        1 => config.failures_within(failures, ticks(random, 16)),
        _ => config.tally_only().failure_ratio(ratio),
    };
    if random.below(2) == 0 {
        config = config.failure_ratio(ratio);
    }
    let probes = 1 + random.below(4) as u32;
    config = config
        .probes(probes)
        .close_after(probes + random.below(4) as u32);
    config = match random.below(4) {
        0 => config.exponential(2, OPEN / 2),
        1 => config.linear(4 * TICK, OPEN / 2),
        _ => config,
    };
    if random.below(2) == 0 {
        config = config.jitter_percent(50);
    }
    if random.below(2) == 0 {
        config = config.gradual_return(1 + random.below(100) as u32, ticks(random, 16));
    }
    if random.below(3) == 0 {
        config = config.slow_call(ticks(random, 4));
    }
    config
}

fn call<W: Cell>(breaker: &Adjusted<'_, W>, random: &mut Random) {
    let Ok(permit) = breaker.acquire() else {
        return;
    };
    match random.below(24) {
        0..12 => permit.success(),
        12..18 => permit.failure(),
        18 => permit.report(Outcome::Ignored),
        19 => permit.cancel(),
        20 => permit.report(Failure::tripping_for(TICK)),
        21 => permit.report(Failure::with_weight(random.below(9) as u16)),
        22 => breaker.resume(permit.into_token()).success(),
        _ => {
            // The probe never reports: the lease frees its slot.
            let _ = permit.into_token();
            None
        }
    };
}

/// The resource works from now on: one caller follows another until the breaker is closed and all pass.
fn serves_again<W: Cell>(breaker: &Adjusted<'_, W>, clock: &ManualClock) {
    let mut waited = Duration::ZERO;
    let mut passed = 0;
    while passed < 4 || breaker.state() != State::Closed {
        let pause = match breaker.acquire() {
            Ok(permit) => {
                permit.success();
                passed += 1;
                TICK / 8
            }
            Err(rejected) => {
                passed = 0;
                rejected.retry_in().unwrap().clamp(TICK / 8, TICK)
            }
        };
        clock.advance(pause);
        waited += pause;
        // A word rounds up by an eighth and two ticks.
        let bound = OPEN + 16 * LEASE + RETURN;
        assert!(
            waited <= bound * 9 / 8 + 4 * TICK,
            "{waited:?}: {breaker:?}"
        );
    }
}

/// The resource is down from now on, and no time passes: returns the most calls that any of the rules let pass.
fn trips<W: Cell>(breaker: &Adjusted<'_, W>) {
    for _ in 0..22 {
        let Ok(permit) = breaker.acquire() else { break };
        permit.failure();
    }
    assert_eq!(breaker.state(), State::Open, "{breaker:?}");
}

fn adjusted<W: Cell>(turns: u64) {
    let first = Config::new().open_for(TICK).probe_lease(LEASE);
    let (clock, calls, changes) = (ManualClock::new(), AtomicU64::new(0), AtomicU64::new(0));
    let breaker: Adjusted<'_, W> = Breaker::builder(first, &clock)
        .word(contended::<W>())
        .last_calls(LastCalls::over(W::default()))
        .build_adjustable(KeptRules::new());
    let operator = Mutex::new(Random::stream(CALLERS));
    // Few enough that each is set again and again.
    let all: Vec<_> = (0..256)
        .map(|_| any(&mut operator.lock().unwrap()))
        .collect();
    rounds(
        CALLERS,
        turns,
        |random| {
            for nth in 0..400 {
                calls.fetch_add(1, Ordering::Relaxed);
                call(&breaker, random);
                if nth % 40 == 0 {
                    thread::yield_now();
                }
            }
        },
        || {
            let mut random = operator.lock().unwrap();
            for _ in 0..50 {
                let config = all[random.below(all.len() as u64) as usize];
                breaker.set_config(config).unwrap();
                changes.fetch_add(1, Ordering::Relaxed);
                clock.advance(TICK / 4 * random.below(4) as u32);
                let seen = breaker.snapshot();
                assert!(
                    seen.returning_percent()
                        .is_none_or(|share| (1..=100).contains(&share))
                );
                thread::yield_now();
            }
        },
        || {
            assert_eq!(breaker.check(), Ok(()));
            serves_again(&breaker, &clock);
            trips(&breaker);
            serves_again(&breaker, &clock);
        },
    );
    println!(
        "{}, rules set {} times, seed {SEED:#x}: {} calls, {} exchanges lost to another thread",
        W::NAME,
        changes.into_inner(),
        calls.into_inner(),
        breaker.word().lost(),
    );
}

#[test]
fn a_breaker_whose_rules_change_at_random_serves_and_trips_by_the_last_ones_over_a_64_bit_word() {
    adjusted::<Wide>(60);
}

#[test]
fn a_breaker_whose_rules_change_at_random_serves_and_trips_by_the_last_ones_over_a_32_bit_word() {
    adjusted::<Narrow>(60);
}
