//! How long a breaker stays open: what the fleet needs to know of its rules.

use atomic_breaker::word::Layout;
use atomic_breaker::{Breaker, Config, ManualClock};

/// The open time by these rules after `trips` trips in a row, growth and jitter included, in milliseconds. `random`
/// decides the jitter, unless the rules have a seed.
pub(super) fn open_ms(rules: &Config, trips: u8, random: u32) -> u32 {
    let max = rules.get_max_open_for().unwrap_or(rules.get_open_for());
    let mut config = Config::new()
        .open_for(rules.get_open_for())
        .jitter_percent(rules.get_jitter_percent())
        .seed(rules.get_seed().unwrap_or(random));
    if let Some(percent) = rules.get_exponential_percent() {
        config = config.exponential_percent(percent, max);
    } else if let Some(step) = rules.get_linear_step() {
        config = config.linear(step, max);
    }
    // The core's own arithmetic, on a breaker that is never called.
    let mut open_ms = u32::try_from(rules.get_open_for().as_millis()).unwrap_or(u32::MAX);
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
    let own = rules.get_max_open_for().unwrap_or(rules.get_open_for());
    let own = own + own * rules.get_jitter_percent() / 100;
    let asked = rules.get_max_retry_after_in(Layout::WIDE);
    u32::try_from(own.max(asked).as_millis()).unwrap_or(u32::MAX)
}
