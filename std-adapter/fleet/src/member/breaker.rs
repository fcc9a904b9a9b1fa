//! What an action does to a breaker, and what a breaker's transition tells its fleet.

use std::time::Duration;

use atomic_breaker::{AnyBreaker, BitsOf, Cause, Config, Rules, State, Transition};

use super::{Action, Local};

impl Action {
    /// Applies it to a breaker, and returns what it changed there. An [ask](Self::Ask) changes nothing.
    pub fn apply_to(self, breaker: &impl AnyBreaker) -> Option<Transition> {
        match self {
            Self::Ask(_) => None,
            Self::Trip { for_ms } => trip(breaker, for_ms),
            Self::Extend { for_ms } => {
                let is_open = breaker.as_breaker().state() == State::Open;
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
            Ok(permit) if permit.is_probe() => last = permit.success().unwrap_or(last),
            // A real call was faster: it decides.
            _ => break,
        }
    }
    Some(last)
}

impl Local {
    /// What a transition tells the fleet, unless the fleet itself [made](Action::apply_to) it.
    pub fn of(made: &Transition) -> Option<Self> {
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
