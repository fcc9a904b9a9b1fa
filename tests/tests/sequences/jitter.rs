//! Open times drawn by lot spread over the whole range that they are drawn from.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, ManualClock};
use proptest::prelude::*;

use super::any;

/// In which eighths of the jitter the open times of a breaker fall that is tripped again and again.
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
        breaker.trip();
        let drawn = breaker.snapshot().open_for().unwrap().as_millis() as u64;
        let part = (drawn - open_for) * 8 / (most + 1);
        counts[part.min(7) as usize] += 1;
        clock.advance(Duration::from_secs(1));
    }
    counts
}

proptest! {
    #![proptest_config(any::config(500))]

    /// 32 of 256 are expected in each eighth, with a standard deviation of 5.3; fewer than 4 in any
    /// of 500 times 8 eighths happens by chance less than once in a hundred thousand runs. Open times
    /// of the 32-bit word are so coarse that quarters are counted.
    #[test]
    fn open_times_spread_over_the_jitter(seed in any::<u32>(), start in any::<u32>()) {
        let wide = eighths(AtomicU64::new(0), seed, start, 2_000, 50);
        prop_assert!(wide.iter().all(|&count| count >= 4), "{:?}", wide);

        let narrow = eighths(AtomicU32::new(0), seed, start, 64 << 10, 100);
        let quarters = narrow.chunks(2).map(|pair| pair[0] + pair[1]);
        prop_assert!(quarters.clone().all(|count| count >= 16), "{:?}", narrow);
    }

    #[test]
    fn the_same_seed_and_history_draw_the_same_and_another_seed_others(
        seed in any::<u32>(),
        other in any::<u32>(),
        start in any::<u32>(),
    ) {
        prop_assume!(seed != other);
        let draw = |seed| {
            let clock = ManualClock::starting_at(start);
            let config = Config::new().jitter_percent(100).seed(seed);
            let breaker = Breaker::over(AtomicU64::new(0), config, &clock);
            let mut drawn = Vec::new();
            for _ in 0..8 {
                breaker.trip();
                drawn.push(breaker.snapshot().open_for());
            }
            drawn
        };
        prop_assert_eq!(draw(seed), draw(seed));
        prop_assert_ne!(draw(seed), draw(other));
    }
}
