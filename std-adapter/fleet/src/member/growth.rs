//! How long a breaker stays open: what the fleet needs to know of its rules.

use atomic_breaker::word::Layout;
use atomic_breaker::{Breaker, Config, ManualClock};

/// The open time by these rules after `trips` trips in a row, growth and jitter included, in milliseconds. `random`
/// decides the jitter, unless the rules have a seed.
pub(super) fn open_ms(rules: &Config, trips: u8, random: u32) -> u32 {
    let mut config = Config::new().seed(rules.seed.unwrap_or(random));
    config.open_for_ms = rules.open_for_ms;
    config.growth = rules.growth;
    config.jitter_percent = rules.jitter_percent;
    // The core's own arithmetic, on a breaker that is never called.
    let mut open_ms = rules.open_for_ms;
    let Ok(breaker) = Breaker::try_new(config, ManualClock::new()) else {
        // The rules need a larger word than this machine's.
        return open_ms;
    };
    for _ in 0..trips.max(1) {
        breaker.probe_now();
        if let Some(tripped) = breaker.trip() {
            open_ms = tripped.open_for_ms;
        }
    }
    open_ms
}

/// The longest open time that an instance with these rules accepts from others, in milliseconds.
pub(super) fn longest_ms(rules: &Config) -> u32 {
    let own = rules
        .growth
        .map_or(rules.open_for_ms, |growth| growth.max_ms);
    let jitter = u64::from(own) * u64::from(rules.jitter_percent) / 100;
    let own = own.saturating_add(u32::try_from(jitter).unwrap_or(u32::MAX));
    own.max(rules.longest_retry_after_ms(Layout::WIDE.max_ms()))
}
