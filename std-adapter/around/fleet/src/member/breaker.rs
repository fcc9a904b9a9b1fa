// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effect of an action on a breaker, the news of a breaker's transition for its fleet, and the time for which its
//! rules keep it open.

use std::time::Duration;

use atomic_breaker::word::Layout;
use atomic_breaker::{
    AnyBreaker, BitsOf, Breaker, Cause, Config, ManualClock, Rules, State, Transition,
};

use super::input::{Action, Local};

impl Action {
    /// Applies it to a breaker, and returns what it changed there. An [ask](Self::Ask) changes nothing.
    pub fn apply_to(self, breaker: &impl AnyBreaker) -> Option<Transition> {
        match self {
            Self::Ask(_) => None,
            Self::Trip { for_ms } => trip(breaker, for_ms),
            Self::Extend { for_ms } => {
                let is_open = breaker.as_breaker().snapshot().entered() == State::Open;
                is_open.then(|| trip(breaker, for_ms)).flatten()
            }
            Self::Probe => breaker.as_breaker().probe_now(),
            Self::Close => close(breaker),
        }
    }
}

/// Trips by rules with a minimal open time, as those of the breaker would lengthen it.
fn trip<B: AnyBreaker>(breaker: &B, for_ms: u64) -> Option<Transition> {
    let brief = Config::new().open_for(Duration::from_millis(1));
    let rules = Rules::<BitsOf<B>>::try_new(brief).ok()?;
    let breaker = breaker.as_breaker().with_rules(rules);
    breaker.trip_for(Duration::from_millis(for_ms))
}

/// Closes it through as many successes as its rules require, so that traffic returns gradually where they say so.
fn close(breaker: &impl AnyBreaker) -> Option<Transition> {
    let breaker = breaker.as_breaker();
    let mut last = breaker.probe_now()?;
    for _ in 0..breaker.config().needed_successes() {
        match breaker.acquire() {
            Ok(permit) if permit.is_probe() => last = permit.success_elsewhere().unwrap_or(last),
            // A real call was faster: it decides.
            _ => break,
        }
    }
    Some(last)
}

impl Local {
    /// Returns the news of a transition for the fleet, unless the fleet itself [made](Action::apply_to) it.
    pub fn from_transition(made: &Transition) -> Option<Self> {
        let open_ms = made.open_for_ms;
        Some(match (made.to, made.cause) {
            (State::Open, Cause::Manual) => Self::TrippedByHand { open_ms },
            (State::Open, Cause::Restored) => return None,
            (State::Open, _) if made.from == State::HalfOpen => Self::ProbeFailed { open_ms },
            (State::Open, cause) => Self::Tripped {
                open_ms,
                is_demanded: cause == Cause::RetryAfter,
            },
            (_, Cause::Manual) => Self::Overruled,
            (_, Cause::ProbesSucceeded) => Self::Recovered,
            (_, Cause::ProbeLost) => Self::ProbeLost,
            _ => return None,
        })
    }
}

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
