//! A number that stands for rules.

use atomic_breaker_std::config::Growth;
use atomic_breaker_std::{Config, TripRule};
use siphasher::sip::SipHasher24;

const ABSENT: u64 = u64::MAX;

/// A digest of everything that processes sharing a word must agree on, the same in every program. The seed is not part
/// of it: each process may draw its jitter from its own seed. Nor is a failure ratio: such rules are rejected.
pub(crate) fn rules(config: &Config) -> u64 {
    let or_absent = |number: Option<u32>| number.map_or(ABSENT, u64::from);
    let (in_a_row, within, window_ms) = match config.trip {
        TripRule::Consecutive { failures } => (Some(failures), None, None),
        TripRule::Within {
            failures,
            window_ms,
        } => (None, Some(failures), Some(window_ms)),
        TripRule::TallyOnly => (None, None, None),
    };
    let returning = config.gradual_return;
    let settings = [
        or_absent(in_a_row),
        or_absent(within),
        or_absent(window_ms),
        or_absent(config.slow_call_ms),
        config.open_for_ms.into(),
        or_absent(config.growth.map(|growth| growth.max_ms)),
        or_absent(config.growth.and_then(Growth::percent)),
        or_absent(config.growth.and_then(Growth::step_ms)),
        config.jitter_percent.into(),
        or_absent(config.max_retry_after_ms),
        config.probes.into(),
        config.needed_successes().into(),
        or_absent(config.probe_lease_ms),
        config.cancel_limit_ms.into(),
        or_absent(returning.map(|back| back.first_percent.into())),
        or_absent(returning.map(|back| back.over_ms)),
    ];
    SipHasher24::new().hash(settings.map(u64::to_le_bytes).as_flattened())
}
