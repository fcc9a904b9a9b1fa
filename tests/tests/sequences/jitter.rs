// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open times drawn at random spread over the whole range that they are drawn from.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, ManualClock};
use proptest::prelude::*;

use super::seed::check;

/// Trips a breaker again and again, and counts in which eighths of the jitter its open times fall.
fn eighths(word: impl Word, seed: u32, start: u32, open_for: u64, percent: u64) -> [u32; 8] {
    let clock = ManualClock::starting_at(start);
    let config = Config::new()
        .open_for(Duration::from_millis(open_for))
        .jitter_percent(percent as u32)
        .seed(seed);
    let breaker = Breaker::over(word, config, &clock);
    let most = open_for * percent / 100;
    let mut counts = [0; 8];
    for _ in 0..256 {
        let drawn = breaker.trip().unwrap().open_for().unwrap().as_millis() as u64;
        // One more tick of the narrow word, to which times are rounded up.
        assert!(drawn <= open_for + most + 64, "{drawn} ms");
        let part = (drawn - open_for) * 8 / (most + 1);
        counts[part.min(7) as usize] += 1;
        breaker.reset();
        clock.advance(Duration::from_secs(1));
    }
    counts
}

/// 32 of 256 are expected in each eighth, with a standard deviation of 5.3; fewer than 4 in any of 500
/// times 16 eighths happens by chance less than once in a hundred thousand runs.
#[test]
fn open_times_spread_over_the_jitter() {
    let cases = (any::<u32>(), any::<u32>());
    check("spread", 500, &cases, |(seed, start)| {
        let wide = eighths(AtomicU64::new(0), seed, start, 2_000, 50);
        prop_assert!(wide.iter().all(|&count| count >= 4), "{:?}", wide);
        let narrow = eighths(AtomicU32::new(0), seed, start, 64 << 10, 100);
        prop_assert!(narrow.iter().all(|&count| count >= 4), "{:?}", narrow);
        Ok(())
    });
}

/// Eight open times in a row.
fn draw(seed: u32, start: u32) -> Vec<Option<Duration>> {
    let clock = ManualClock::starting_at(start);
    let config = Config::new().jitter_percent(100).seed(seed);
    let breaker = Breaker::over(AtomicU64::new(0), config, &clock);
    let mut trips = Vec::new();
    for _ in 0..8 {
        trips.push(breaker.trip().and_then(|tripped| tripped.open_for()));
        breaker.reset();
    }
    trips
}

#[test]
fn the_same_seed_and_history_draw_the_same_and_another_seed_others() {
    let cases = (any::<u32>(), any::<u32>(), any::<u32>());
    check("seeds", 500, &cases, |(seed, other, start)| {
        prop_assume!(seed != other);
        prop_assert_eq!(draw(seed, start), draw(seed, start));
        prop_assert_ne!(draw(seed, start), draw(other, start));
        Ok(())
    });
}
