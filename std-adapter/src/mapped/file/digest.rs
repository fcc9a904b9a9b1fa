//! A number that stands for rules.

use std::time::Duration;

use atomic_breaker::{Config, Ratio};

/// A digest of everything that processes sharing a word must agree on, the same in every program. The seed is not part
/// of it: each process may draw its jitter from its own seed.
pub(super) fn rules(config: &Config) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    let window = config.get_failures_within();
    digest.put(config.get_consecutive_failures());
    digest.put(window.map(|(failures, _)| failures));
    digest.time(window.map(|(_, window)| window));
    digest.put(config.get_tally_only());
    let ratio = config.get_failure_ratio();
    digest.put(ratio.map(Ratio::trips_at_basis_points));
    digest.put(ratio.and_then(Ratio::calls));
    digest.put(ratio.and_then(Ratio::within_ms));
    digest.put(ratio.map(Ratio::needed_calls));
    digest.time(config.get_slow_call());
    digest.time(Some(config.get_open_for()));
    digest.time(config.get_max_open_for());
    digest.put(config.get_exponential_percent());
    digest.time(config.get_linear_step());
    digest.put(config.get_jitter_percent());
    digest.time(config.get_max_retry_after());
    digest.put(config.get_probes());
    digest.put(config.get_close_after());
    digest.time(config.get_probe_lease());
    digest.time(Some(config.get_cancel_limit()));
    let returning = config.get_gradual_return();
    digest.put(returning.map(|(percent, _)| percent));
    digest.time(returning.map(|(_, over)| over));
    digest.0
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo).
struct Digest(u64);

impl Digest {
    fn put(&mut self, number: impl Number) {
        // An absent value differs from every number.
        for byte in number.widen().to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// In milliseconds, as a configuration keeps them.
    fn time(&mut self, time: Option<Duration>) {
        self.put(time.map(|time| time.as_millis() as u32));
    }
}

trait Number {
    fn widen(self) -> u64;
}

impl Number for u32 {
    fn widen(self) -> u64 {
        self.into()
    }
}

impl Number for bool {
    fn widen(self) -> u64 {
        self.into()
    }
}

impl Number for Option<u32> {
    fn widen(self) -> u64 {
        self.map_or(u64::MAX, u64::from)
    }
}
