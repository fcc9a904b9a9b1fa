//! A number that stands for rules.

use std::time::Duration;

use atomic_breaker_std::Config;
use siphasher::sip::SipHasher24;

const ABSENT: u64 = u64::MAX;

/// A digest of everything that processes sharing a word must agree on, the same in every program. The seed is not part
/// of it: each process may draw its jitter from its own seed. Nor is a failure ratio: such rules are rejected.
pub(crate) fn rules(config: &Config) -> u64 {
    let number = |number: Option<u32>| number.map_or(ABSENT, u64::from);
    let ms = |time: Option<Duration>| time.map_or(ABSENT, |time| time.as_millis() as u64);
    let window = config.get_failures_within();
    let returning = config.get_gradual_return();
    let settings = [
        number(config.get_consecutive_failures()),
        number(window.map(|(failures, _)| failures)),
        ms(window.map(|(_, window)| window)),
        ms(config.get_slow_call()),
        ms(Some(config.get_open_for())),
        ms(config.get_max_open_for()),
        number(config.get_exponential_percent()),
        ms(config.get_linear_step()),
        config.get_jitter_percent().into(),
        ms(config.get_max_retry_after()),
        config.get_probes().into(),
        config.get_close_after().into(),
        ms(config.get_probe_lease()),
        ms(Some(config.get_cancel_limit())),
        number(returning.map(|(percent, _)| percent)),
        ms(returning.map(|(_, over)| over)),
    ];
    SipHasher24::new().hash(settings.map(u64::to_le_bytes).as_flattened())
}
