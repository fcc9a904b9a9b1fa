// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documented promises about the wrap, stated without a model of it.
//!
//! With a wrap of `R`: the gate never opens early unless the clock steps back by more than the guard
//! band; a call between `k·R - guard` and `k·R + open_for` after the trip is rejected for up to
//! `guard + open_for`; a call at any other time is right. There are two ticks of rounding either way; if an
//! open time is stored rounded up, the stored time of the trip is earlier by the same amount, and so is the
//! guard band.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use atomic_breaker::{Breaker, Config, ManualClock, Rejected};
use proptest::prelude::*;

use super::any;
use super::seed::check;

/// A word and its clock, as documented, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Scale {
    tick: u64,
    wrap: u64,
    guard: u64,
}

impl Scale {
    const WIDE: Self = Self {
        tick: 1,
        wrap: 1 << 32,
        guard: 1 << 16,
    };

    const fn narrow(tick_log2: u32) -> Self {
        Self {
            tick: 1 << tick_log2,
            wrap: 1 << (15 + tick_log2),
            guard: 1 << (6 + tick_log2),
        }
    }
}

/// A breaker that has tripped, and its open time: exactly, and as stored.
struct Tripped<'a, W: Word> {
    breaker: Breaker<&'a ManualClock, W>,
    open_for: u64,
    stored: u64,
}

fn trip<W: Word>(word: W, open_for: u64, clock: &ManualClock) -> Tripped<'_, W> {
    let config = Config::new()
        .open_for(Duration::from_millis(open_for))
        .probe_lease(Duration::from_millis(1));
    let breaker = Breaker::over(word, config, clock);
    let tripped = breaker.trip().and_then(|tripped| tripped.open_for());
    let stored = breaker.snapshot().open_for();
    let ms = |time: Option<Duration>| time.unwrap().as_millis() as u64;
    Tripped {
        breaker,
        open_for: ms(tripped),
        stored: ms(stored),
    }
}

/// Trips, idles for `idle` milliseconds, and acquires. Then waits as the rejection demands, and
/// acquires again.
fn acquires_after(
    word: impl Word,
    scale: Scale,
    open_for: u64,
    start: u32,
    idle: u64,
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(start);
    let tripped = trip(word, open_for, &clock);
    let earlier = tripped.stored - tripped.open_for;
    clock.advance(Duration::from_millis(idle));

    let Err(rejected) = tripped.breaker.acquire() else {
        prop_assert!(idle >= open_for, "early");
        // Just short of the wrap, within the guard band, it is rejected: the documented price.
        let short = (scale.wrap - idle % scale.wrap) % scale.wrap;
        prop_assert!(short == 0 || short + scale.tick > scale.guard, "{}", short);
        return Ok(());
    };
    let wait = rejected.retry_in().unwrap();
    let slack = 2 * scale.tick;
    let since_wrap = idle % scale.wrap;
    let is_short_of_wrap = since_wrap + scale.guard + earlier + slack >= scale.wrap;
    prop_assert!(
        since_wrap < tripped.open_for + slack || is_short_of_wrap,
        "rejected at no time to reject"
    );
    let most = Duration::from_millis(tripped.stored + scale.guard + slack);
    prop_assert!(wait <= most, "{:?} of {:?}", wait, most);
    clock.advance(wait);
    prop_assert!(tripped.breaker.acquire().is_ok(), "after the wait");
    Ok(())
}

/// Trips, then acquires while the clock goes on and steps back: never early, never late for long.
fn keeps_time(
    word: impl Word,
    scale: Scale,
    open_for: u64,
    start: u32,
    steps: &[(u64, u64)],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(start);
    let tripped = trip(word, open_for, &clock);
    prop_assert!(tripped.open_for >= open_for, "shorter than configured");
    prop_assert!(
        tripped.open_for < open_for + scale.tick,
        "not the next tick"
    );
    // The clock never steps back behind the trip by as much as the guard band, less the tick of rounding:
    // times are counted from there, so that none is below zero.
    let trip = scale.guard - scale.tick;
    let deadline = trip + tripped.open_for;
    let mut now = trip;
    for &(forward, back) in steps {
        let back = back.min(now + forward);
        now = now + forward - back;
        clock.advance(Duration::from_millis(forward));
        clock.step_back(Duration::from_millis(back));
        match tripped.breaker.acquire() {
            Ok(_) => {
                prop_assert!(now >= deadline, "early: {} of {}", now, deadline);
                return Ok(());
            }
            Err(rejected) => {
                let wait = rejected.retry_in().unwrap();
                let most = Duration::from_millis(tripped.stored + scale.guard + scale.tick);
                prop_assert!(wait <= most, "{:?} of {:?}", wait, most);
            }
        }
    }
    let wait = tripped.breaker.acquire().err().and_then(Rejected::retry_in);
    clock.advance(wait.unwrap_or_default());
    prop_assert!(tripped.breaker.acquire().is_ok(), "after the wait");
    Ok(())
}

/// An idle time of up to four wraps: near a documented edge, or anywhere.
fn idles(scale: Scale, open_for: u64) -> impl Strategy<Value = u64> {
    let edges = vec![0, open_for, scale.wrap - scale.guard, scale.guard];
    let near = (
        0_u64..4,
        prop::sample::select(edges),
        0..=6 * scale.tick.max(2),
    );
    prop_oneof![
        3 => near.prop_map(move |(wraps, edge, more)| {
            (wraps * scale.wrap + edge + more).saturating_sub(3 * scale.tick.max(2))
        }),
        1 => 0..4 * scale.wrap,
        1 => any::times(),
    ]
}

/// An open time, an idle time, and the start of the clock.
fn idle_on(scale: Scale) -> impl Strategy<Value = (u64, u64, u32)> {
    let most = scale.wrap / 2;
    any::times()
        .prop_map(move |time| time.min(most))
        .prop_flat_map(move |open_for| (Just(open_for), idles(scale, open_for), any::<u32>()))
}

#[test]
fn a_breaker_left_idle_errs_only_where_documented_in_the_64_bit_word() {
    let scale = Scale::WIDE;
    check("idle, 64 bits", 10_000, &idle_on(scale), |case| {
        let (open_for, idle, start) = case;
        acquires_after(AtomicU64::new(0), scale, open_for, start, idle)
    });
}

#[test]
fn a_breaker_left_idle_errs_only_where_documented_in_the_32_bit_word() {
    fn errs<const N: u32>() {
        let scale = Scale::narrow(N);
        let name = format!("idle, ticks of 2^{N} ms");
        check(&name, 2_500, &idle_on(scale), |(open_for, idle, start)| {
            let word = Ticks::<_, N>(AtomicU32::new(0));
            acquires_after(word, scale, open_for, start, idle)
        });
    }
    errs::<0>();
    errs::<3>();
    errs::<6>();
    errs::<16>();
}

#[test]
fn the_gate_never_opens_early_and_never_long_late_whatever_the_clock_does() {
    fn keep_time<const N: u32>() {
        let steps = prop::collection::vec((any::times(), any::times()), 1..20);
        let cases = (any::times(), any::<u32>(), steps);
        let name = format!("whatever the clock does, ticks of 2^{N} ms");
        check(&name, 2_500, &cases, |(open_for, start, steps)| {
            keeps_time(AtomicU64::new(0), Scale::WIDE, open_for, start, &steps)?;
            let narrow = Scale::narrow(N);
            let open_for = open_for.min(narrow.wrap / 2);
            let word = Ticks::<_, N>(AtomicU32::new(0));
            keeps_time(word, narrow, open_for, start, &steps)
        });
    }
    keep_time::<0>();
    keep_time::<3>();
    keep_time::<6>();
    keep_time::<16>();
}
