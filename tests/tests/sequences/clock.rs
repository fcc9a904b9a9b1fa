//! What the documentation of the wrap promises, stated without a model of it.
//!
//! With a wrap of `R`: the gate never opens early unless the clock steps back by more than the guard
//! band; a call between `k·R - guard` and `k·R + open_for` after the trip is refused for up to
//! `guard + open_for`; a call at any other time is right. Two ticks of rounding either way.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, ManualClock, Rejected};
use proptest::prelude::*;

use super::any;

/// A word and its clock, as documented. Milliseconds.
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

    fn config(self, open_for: u64) -> Config {
        Config::new()
            .open_for(Duration::from_millis(open_for))
            .probe_lease(Duration::from_millis(1))
            .tick_log2_ms(self.tick.ilog2())
    }
}

/// Trips, idles for `idle` milliseconds, and asks. Then waits as told, and asks again.
fn asks_after(
    word: impl Word,
    scale: Scale,
    open_for: u64,
    start: u32,
    idle: u64,
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(start);
    let breaker = Breaker::over(word, scale.config(open_for), &clock);
    breaker.trip();
    let stored = breaker.snapshot().open_for().unwrap().as_millis() as u64;
    clock.advance(Duration::from_millis(idle));

    let Err(rejected) = breaker.acquire() else {
        prop_assert!(idle >= open_for, "early");
        // Just short of the wrap, within the guard band, it is refused: the price that is documented.
        let short = (scale.wrap - idle % scale.wrap) % scale.wrap;
        prop_assert!(short == 0 || short + scale.tick > scale.guard, "{}", short);
        return Ok(());
    };
    let wait = rejected.retry_in().unwrap();
    let slack = 2 * scale.tick;
    let since_wrap = idle % scale.wrap;
    let is_short_of_wrap = since_wrap + scale.guard + slack >= scale.wrap;
    prop_assert!(
        since_wrap < stored + slack || is_short_of_wrap,
        "refused at no time to refuse"
    );
    let most = Duration::from_millis(stored + scale.guard + slack);
    prop_assert!(wait <= most, "{:?} of {:?}", wait, most);
    clock.advance(wait);
    prop_assert!(breaker.acquire().is_ok(), "as told");
    Ok(())
}

/// Trips, then asks at times of a clock that goes on and steps back: never early, never long late.
fn keeps_time(
    word: impl Word,
    scale: Scale,
    open_for: u64,
    start: u32,
    steps: &[(u64, u64)],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(start);
    let breaker = Breaker::over(word, scale.config(open_for), &clock);
    breaker.trip();
    let stored = breaker.snapshot().open_for().unwrap().as_millis() as u64;
    // The clock never steps back behind the trip by as much as the guard band, less the tick that is
    // rounded: counted from there, so that no time is below zero.
    let trip = scale.guard - scale.tick;
    let mut now = trip;
    for &(forward, back) in steps {
        let back = back.min(now + forward);
        now = now + forward - back;
        clock.advance(Duration::from_millis(forward));
        clock.step_back(Duration::from_millis(back));
        match breaker.acquire() {
            Ok(_) => {
                prop_assert!(now >= trip + stored, "early: {} of {}", now, trip + stored);
                return Ok(());
            }
            Err(rejected) => {
                let wait = rejected.retry_in().unwrap();
                let most = Duration::from_millis(stored + scale.guard + scale.tick);
                prop_assert!(wait <= most, "{:?} of {:?}", wait, most);
            }
        }
    }
    let wait = breaker.acquire().err().and_then(Rejected::retry_in);
    clock.advance(wait.unwrap_or_default());
    prop_assert!(breaker.acquire().is_ok(), "as told");
    Ok(())
}

/// An idle time of up to four wraps: near an edge of what is documented, or anywhere.
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

fn idle_on(scale: Scale) -> impl Strategy<Value = (Scale, u64, u64)> {
    let most = scale.wrap / 2;
    any::times()
        .prop_map(move |time| time.min(most))
        .prop_flat_map(move |open_for| (Just(scale), Just(open_for), idles(scale, open_for)))
}

proptest! {
    #![proptest_config(any::config(10_000))]

    #[test]
    fn a_breaker_left_idle_errs_only_where_documented_in_the_64_bit_word(
        (scale, open_for, idle) in idle_on(Scale::WIDE),
        start in any::<u32>(),
    ) {
        asks_after(AtomicU64::new(0), scale, open_for, start, idle)?;
    }

    #[test]
    fn a_breaker_left_idle_errs_only_where_documented_in_the_32_bit_word(
        (scale, open_for, idle) in any::ticks().prop_flat_map(|n| idle_on(Scale::narrow(n))),
        start in any::<u32>(),
    ) {
        asks_after(AtomicU32::new(0), scale, open_for, start, idle)?;
    }

    #[test]
    fn the_gate_never_opens_early_and_never_long_late_whatever_the_clock_does(
        open_for in any::times(),
        start in any::<u32>(),
        tick in any::ticks(),
        steps in prop::collection::vec((any::times(), any::times()), 1..20),
    ) {
        keeps_time(AtomicU64::new(0), Scale::WIDE, open_for, start, &steps)?;
        let narrow = Scale::narrow(tick);
        let open_for = open_for.min(narrow.wrap / 2);
        keeps_time(AtomicU32::new(0), narrow, open_for, start, &steps)?;
    }
}
