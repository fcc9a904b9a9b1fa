// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arbitrary valid rules, and the bound of one breaker.

use std::time::Duration;

use atomic_breaker_http::Config;
use atomic_breaker_server::TripRule;
use test_support::operators::DEMANDED_MS;
pub(crate) use test_support::operators::{command, let_go};

use super::dice::Dice;
use super::host::LONGEST_ANSWER;
use super::stack::{Calm, LATEST, Trips};

/// The bound of one breaker according to its rules, and its parts:
///
/// ```text
/// old     calls begun before may end, or be given up, until then: the longer of LATEST and 16 leases
/// open    the longest open time, grown or demanded, with its jitter, and 1/8 and two ticks for how the word rounds
/// probes  close_after × (the response of one + the pause between two calls)
/// rounds  if responses take longer than the lease, rounds of doubling leases are lost: 2 × the response, and the pause
///         before the call that begins each of five
/// return  the time of the gradual return, and one more call
/// behind  by how much its clock is behind
/// ```
pub(crate) fn bound_of(rules: &[Config], calm: &Calm) -> Duration {
    let lease = longest(rules, |config| config.lease_ms(u32::MAX));
    let probes = rules.iter().map(Config::needed_successes).max();
    let probes = probes.unwrap_or(1);
    let return_over = longest(rules, |config| {
        config.gradual_return.map_or(0, |back| back.over_ms)
    });
    let old = LATEST.max(16 * lease);
    let probes = probes * (calm.answers_after + calm.gap);
    let rounds = 2 * calm.answers_after + 5 * calm.gap;
    old + open_of(rules) + probes + rounds + return_over + calm.gap + calm.behind
}

fn longest(rules: &[Config], ms: impl Fn(&Config) -> u32) -> Duration {
    let longest = rules.iter().map(ms).max().unwrap_or_default();
    Duration::from_millis(longest.into())
}

/// The longest open time that these rules allow.
pub(crate) fn open_of(rules: &[Config]) -> Duration {
    let open = longest(rules, |config| {
        let grown = config.growth.map_or(0, |growth| growth.max_ms);
        let most = config.open_for_ms.max(grown).max(DEMANDED_MS);
        let asked = config.max_retry_after_ms.unwrap_or_default();
        most.max(asked) / 100 * (100 + u32::from(config.jitter_percent))
    });
    open * 9 / 8 + Duration::from_millis(128)
}

/// Arbitrary valid rules, for scenarios that take minutes.
pub(crate) fn rules(dice: &mut Dice) -> Config {
    let open = dice.ms(50..3_000);
    let probes = dice.within(1..4);
    let mut config = Config::new()
        .consecutive_failures(dice.within(1..7))
        .open_for(open)
        .jitter_percent(dice.pick(&[0, 20, 100]))
        .max_retry_after(dice.ms(3_000..20_000))
        .probes(probes)
        .close_after(dice.within(probes..6))
        .probe_lease(dice.ms(100..4_000))
        .cancel_limit(dice.ms(0..600));
    let times = dice.within(1..32);
    config = match dice.below(3) {
        0 => config,
        1 => config.exponential(2, (times * open).min(Duration::from_secs(10)).max(open)),
        _ => config.linear(open, open * times.min(6)),
    };
    if dice.percent(40) {
        config = config.gradual_return(dice.within(1..60), dice.ms(200..8_000));
    }
    if dice.percent(40) {
        config = config.slow_call(LONGEST_ANSWER + Duration::from_millis(200));
    }
    config
}

/// The rules that trip on consecutive failures.
pub(crate) fn trips_of(rules: &[Config]) -> Trips {
    let after = rules.iter().filter_map(|config| match config.trip {
        TripRule::Consecutive { failures } | TripRule::Lasting { failures, .. } => Some(failures),
        // A window that starts over: twice this many failures may fall into two windows.
        TripRule::Within { failures, .. } => Some(2 * failures),
        _ => None,
    });
    Trips {
        after: after.max().unwrap_or(1),
        outweighing: Duration::ZERO,
    }
}
