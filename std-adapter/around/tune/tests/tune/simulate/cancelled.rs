// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls whose callers leave without a report: the breaker decides what that means.

use atomic_breaker::State;
use atomic_breaker_tune::Config;
use atomic_breaker_tune::engine::{
    BreakerScope, Completion, PlannedCall, UsefulWithin, Usefulness, run,
};
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The states that a breaker goes to when callers leave after this time, 100 calls a second.
fn changes(config: Config, left_after: Duration) -> Vec<State> {
    let left = Completion::cancelled(left_after);
    let calls = (0..1_000_u64).map(|number| PlannedCall::new(number * 10_000, left));
    let serve = |call: &PlannedCall| call.completion;
    let scope = BreakerScope::Single;
    let changes = run(Some(&config), scope, 0, calls.peekable(), serve, |_, _| {});
    changes
        .unwrap()
        .iter()
        .map(|change| change.transition.to)
        .collect()
}

#[test]
fn calls_that_were_left_are_failures_once_they_are_slow() {
    let config = Config::new()
        .consecutive_failures(5)
        .open_for(Duration::from_secs(60));
    assert_eq!(changes(config, ms(500)), []);
    let slow = config.slow_call(ms(400));
    assert_eq!(changes(slow, ms(500)), [State::Open]);
    assert_eq!(changes(slow, ms(300)), []);
}

#[test]
fn a_call_that_was_left_late_is_wasted_and_one_left_soon_says_nothing() {
    let useful = UsefulWithin::new(None);
    for (time, worth) in [(249, Usefulness::Neither), (250, Usefulness::Wasted)] {
        let left = Completion::cancelled(ms(time));
        assert_eq!(useful.worth(left), worth);
        assert_eq!(left.has_hung(), worth == Usefulness::Wasted);
    }
}
