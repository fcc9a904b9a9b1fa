// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of one deployment, drawn from its seed, and the bounds that the pages state for them.

use std::time::Duration;

use atomic_breaker_http::{BudgetConfig, ClientConfig, Config, Ratio};
use atomic_breaker_server::TripRule;
use http::StatusCode;
use test_support::dice::Dice;

use crate::net::HOSTS;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);
pub(crate) const TRY_LIMIT: Duration = Duration::from_secs(3);
/// The time that the engine may take to answer.
pub(crate) const ENGINE_LIMIT: Duration = Duration::from_millis(250);
/// The longest that an operator opens a breaker for.
pub(crate) const DEMANDED: Duration = Duration::from_secs(20);
/// The longest time by which clocks jump back: less than the guard band.
pub(crate) const LONGEST_BACK: Duration = Duration::from_secs(60);
/// The pause between two calls of an instance to a resource while any breaker is open.
pub(crate) const GAP: Duration = Duration::from_millis(1_500);
pub(crate) const LEASE: Duration = Duration::from_secs(20);
pub(crate) const STEP_LIMIT: Duration = Duration::from_secs(60);
pub(crate) const TELL_AFTER: Duration = Duration::from_secs(60);
/// The longest pause of a job: of the schedule, and of one whose steps are rejected.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_HELD_UP: Duration = Duration::from_secs(300);

/// The size of a budget of retries, and the rate at which it fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) max: u32,
    pub(crate) percent: u32,
    pub(crate) per_second: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) client: ClientConfig,
    pub(crate) rules: Config,
    /// The same without a share of failures, which takes a memory of calls.
    pub(crate) plain: Config,
    pub(crate) budget: Budget,
    pub(crate) quorum: u32,
    /// The interval at which members of the fleet, and workers, ask.
    pub(crate) fleet_poll: Duration,
    pub(crate) steps_poll: Duration,
    /// The answer of a shop when a dependency is rejected.
    pub(crate) unavailable: StatusCode,
    /// This percentage of callers hangs up.
    pub(crate) hasty: u64,
    /// This percentage of the engine's messages is lost, repeated or late.
    pub(crate) noise: u64,
}

impl Plan {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let plain = plain(dice);
        let ratio = Ratio::percent(50).within(DEADLINE).min_calls(20);
        let rules = plain.failure_ratio(ratio);
        let budget = Budget {
            max: dice.within(3..30),
            percent: dice.pick(&[5, 20, 50]),
            per_second: dice.pick(&[0, 1]),
        };
        let client = servers::five_in_a_row()
            .deadline(DEADLINE)
            .try_limit(TRY_LIMIT)
            .tries(dice.within(1..4))
            .rejection_waits(dice.within(0..3))
            .outliving(dice.pick(&[1, 32]))
            .capacity(16)
            .breaker(rules)
            .budget(budget.config());
        client.check().expect("settings that fit");
        Self {
            client,
            rules,
            plain,
            budget,
            quorum: dice.within(1..4),
            fleet_poll: SECOND * dice.pick(&[60, 300, 600, 600]),
            steps_poll: SECOND * dice.pick(&[120, 300, 600, 600]),
            unavailable: dice.pick(&[
                StatusCode::SERVICE_UNAVAILABLE,
                StatusCode::FAILED_DEPENDENCY,
            ]),
            hasty: dice.pick(&[0, 5, 30]),
            noise: dice.pick(&[0, 5, 30]),
        }
    }

    /// The number of consecutive failed tries after which a breaker has tripped, whichever rules an operator sets.
    pub(crate) fn trips_after(&self) -> u32 {
        let TripRule::Consecutive { failures } = self.rules.trip else {
            unreachable!("rules of this kind");
        };
        failures
    }

    /// The longest open time, grown or demanded, with its jitter and rounding.
    fn open(&self) -> Duration {
        let grown = self.rules.growth.map_or(0, |growth| growth.max_ms);
        let asked = self.rules.max_retry_after_ms.unwrap_or_default();
        let most = grown.max(asked).max(DEMANDED.as_millis() as u32);
        Duration::from_millis((most / 100 * (101 + u32::from(self.rules.jitter_percent))).into())
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(self.rules.lease_ms(u32::MAX).into())
    }

    /// The time that one breaker adds to its open time: calls from before, and those that close it.
    fn rest(&self) -> Duration {
        let probes = self.rules.needed_successes() * (SECOND + GAP);
        let over = self.rules.gradual_return.map_or(0, |back| back.over_ms);
        let over = Duration::from_millis(over.into());
        DEADLINE + 2 * self.lease() + probes + over + 2 * GAP
    }

    /// The time after which a dependency that is well is served to all shops, as the page on fleets says: with one that
    /// is sick, two more calls, a lost message, and a probe that hangs in each.
    pub(crate) fn shops_bound(&self) -> Duration {
        let (open, grace) = (self.open(), self.grace());
        let hung = (self.lease() + grace / 2) * HOSTS as u32;
        LONGEST_BACK + 2 * open + 4 * grace + self.fleet_poll * 11 / 10 + hung + self.rest()
    }

    fn grace(&self) -> Duration {
        Self::grace_of(self.open())
    }

    /// The time that the fleet may take to find a prober after this open time.
    pub(crate) fn grace_of(open: Duration) -> Duration {
        (open / 10).max(4 * ENGINE_LIMIT)
    }

    /// The same for a shop and its callers, once its dependencies are served.
    pub(crate) fn webs_bound(&self) -> Duration {
        self.shops_bound() + LONGEST_BACK + self.open() + self.rest()
    }

    /// The time after which all jobs are done, once what they need is served: a lease, and another one that a save from
    /// before began late, a poll, the longest pause of each of two steps.
    pub(crate) fn jobs_bound(&self) -> Duration {
        let step = LONGEST_HELD_UP * 11 / 10 + LONGEST_PAUSE * 2 + self.steps_poll + STEP_LIMIT;
        self.shops_bound() + 2 * LEASE + 2 * step
    }
}

impl Budget {
    fn config(self) -> BudgetConfig {
        BudgetConfig::new()
            .max_tokens(self.max)
            .deposit_percent(self.percent)
            .tokens_per_second(self.per_second)
    }
}

/// Like those of the preset, from careful to bold.
fn plain(dice: &mut Dice) -> Config {
    let probes = dice.within(1..4);
    let open = dice.ms(500..3_000);
    let rules = Config::new()
        .consecutive_failures(dice.within(2..8))
        .open_for(open)
        .exponential(2, dice.ms(5_000..30_000))
        .jitter_percent(dice.pick(&[0, 20, 50]))
        .max_retry_after(dice.ms(5_000..60_000))
        .probes(probes)
        .close_after(dice.within(probes..5))
        .probe_lease(TRY_LIMIT + dice.ms(500..5_000));
    if dice.percent(30) {
        return rules.gradual_return(dice.within(5..50), dice.ms(1_000..20_000));
    }
    rules
}
