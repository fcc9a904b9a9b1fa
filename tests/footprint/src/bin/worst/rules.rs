// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of rules: each part that takes time of its own, with and without.

use core::fmt;
use core::time::Duration;

use atomic_breaker::Config;

/// The parts of a set, by the bit of its number.
const PARTS: [&str; 5] = [
    "window",
    "growth and jitter",
    "gradual return",
    "slow calls",
    "two probes and lease",
];

/// So many sets.
pub(crate) const COUNT: usize = 1 << PARTS.len();

/// The longest time of a 32-bit word is 2¹⁴ ticks: so long, and its jitter.
pub(crate) const LONGEST: Duration = Duration::from_millis(1_038_000);
const SECOND: Duration = Duration::from_secs(1);

// No time is a whole number of ticks, so each is rounded up.
pub(crate) const fn config(set: usize) -> Config {
    let mut config = Config::new()
        .consecutive_failures(5)
        .open_for(Duration::from_millis(257))
        .max_retry_after(LONGEST);
    if set & 1 != 0 {
        // Shorter than the return.
        config = config.failures_within(5, Duration::from_millis(100));
    }
    if set & 2 != 0 {
        // Grows for as many trips as are counted.
        config = config.exponential(4, LONGEST).jitter_percent(1);
    }
    if set & 4 != 0 {
        // Of thousands of shares and times, those for which a division by software takes longest.
        config = config.gradual_return(75, Duration::from_millis(250));
    }
    if set & 8 != 0 {
        config = config.slow_call(SECOND);
    }
    if set & 16 != 0 {
        config = config.probes(2).close_after(3).probe_lease(SECOND);
    }
    config
}

/// Writes the parts of a set.
pub(crate) fn describe(set: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut before = "; ";
    for (bit, part) in PARTS.iter().enumerate() {
        if set >> bit & 1 != 0 {
            write!(f, "{before}{part}")?;
            before = ", ";
        }
    }
    Ok(())
}
