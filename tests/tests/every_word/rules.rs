// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that reach every branch: each with the times that its arithmetic can tell apart, in ticks of a millisecond.

use std::time::Duration;

use atomic_breaker::{Config, Rules};

use crate::form::Form;

/// A set of rules, and what the properties need to know of it.
pub(crate) struct Ruled<F: Form> {
    pub(crate) config: Config,
    pub(crate) rules: Rules<F>,
    pub(crate) probes: u32,
    pub(crate) lease: u64,
    /// The window of failures, or the time of a gradual return.
    pub(crate) span: u64,
    /// Whether it matters when a call began.
    pub(crate) measures: bool,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl<F: Form> Ruled<F> {
    /// How long trips are kept once probes have succeeded, in ticks: until a gradual return is over, and as long as the last
    /// open time was without jitter.
    pub(crate) fn keeps_trips_for(&self, trips: u32) -> u64 {
        let config = &self.config;
        let over = config
            .gradual_return
            .map_or(0, |back| u64::from(back.over_ms));
        let Some(growth) = config.growth else {
            return over;
        };
        let percent = u64::from(growth.percent().unwrap_or(100));
        let step = u64::from(growth.step_ms().unwrap_or(0));
        let mut open = u64::from(config.open_for_ms);
        for _ in 1..trips {
            let grown = open * (percent * 256).div_ceil(100) / 256 + step;
            open = grown.min(growth.max_ms.into());
        }
        over.max(open)
    }

    fn new(config: Config, probes: u32, lease: u64, span: u64) -> Self {
        Self {
            config,
            rules: Rules::try_new(config).unwrap(),
            probes,
            lease,
            span,
            measures: config.slow_call_ms.is_some(),
        }
    }
}

pub(crate) fn all<F: Form>() -> Vec<Ruled<F>> {
    // One significant bit more than the word has: what rounding adds must not show.
    let too_precise = (1 << F::PRECISION) + 5;
    let longest = ms(F::LONGEST);
    vec![
        Ruled::new(
            Config::new()
                .consecutive_failures(3)
                .open_for(ms(too_precise))
                .probe_lease(ms(30)),
            1,
            30,
            20,
        ),
        Ruled::new(
            Config::new()
                .failures_within(2, ms(50))
                .open_for(ms(7))
                .exponential(2, ms(100))
                .jitter_percent(50)
                .probes(3)
                .close_after(4)
                .probe_lease(ms(9)),
            3,
            9,
            50,
        ),
        Ruled::new(
            Config::new()
                .consecutive_failures(1)
                .open_for(ms(1))
                .linear(ms(3), ms(9))
                .probe_lease(ms(1))
                .gradual_return(10, ms(40)),
            1,
            1,
            40,
        ),
        Ruled::new(
            Config::new()
                .consecutive_failures(F::MOST_FAILURES)
                .open_for(longest)
                .max_retry_after(longest)
                .probes(F::MOST_PROBES)
                .close_after(F::MOST_PROBES)
                .probe_lease(longest),
            F::MOST_PROBES,
            F::LONGEST,
            255,
        ),
        Ruled::new(
            Config::new()
                .consecutive_failures(2)
                .lasting(ms(50))
                .open_for(ms(10))
                .probe_lease(ms(30)),
            1,
            30,
            50,
        ),
        Ruled::new(
            Config::new()
                .consecutive_failures(3)
                .lasting(ms(40))
                .open_for(ms(10))
                .exponential(2, ms(320))
                .probe_lease(ms(30))
                .gradual_return(10, ms(40)),
            1,
            30,
            40,
        ),
        Ruled::new(
            Config::new()
                .consecutive_failures(2)
                .open_for(ms(10))
                .slow_call(ms(5))
                .cancel_limit(ms(3))
                .probe_lease(ms(100))
                .probes(2),
            2,
            100,
            5,
        ),
    ]
}
