// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios at the edges: callers that wait, few calls, no time, and all of it.

use std::cell::RefCell;
use std::time::Duration;

use atomic_breaker::Outcome;
use atomic_breaker_tune::engine::{BreakerScope, Callers, Completion, PlannedCall, Warming, run};
use atomic_breaker_tune::{ColdServer, Config, Scenario, simulate};

#[test]
fn moments_never_go_back_though_a_caller_is_freed_before_the_next_call() {
    let moments = RefCell::new(Vec::new());
    let callers = Callers::new(2, 100_000, |at| {
        moments.borrow_mut().push(at);
        // The second caller waits until 1.05 s, when the first one has said that it calls at 1.1 s.
        let took = if at == 50_000 { 1_000 } else { 10 };
        let completion = Completion::new(Outcome::Success, Duration::from_millis(took));
        (at < 3_000_000).then(|| PlannedCall::new(at, completion))
    });
    let scope = BreakerScope::Single;
    run(None, scope, 0, callers, |call| call.completion, |_, _| {}).unwrap();
    let moments = moments.into_inner();
    assert!(moments.is_sorted(), "{moments:?}");
}

#[test]
fn a_cold_server_bears_its_share_however_few_calls_there_are() {
    for (percent, per_second) in [
        (10, 1_u32),
        (10, 20),
        (10, 100),
        (1, 50),
        (1, 1_000),
        (50, 3),
    ] {
        let server = ColdServer::new(percent, Duration::from_secs(1_000_000));
        let mut warming = Warming::new(server, 0, per_second.into());
        let at_us = |call: u64| call * 1_000_000 / u64::from(per_second);
        let borne = (0..10_000).filter(|call| warming.bears(at_us(*call)));
        let share = borne.count() / 100;
        assert!(
            share.abs_diff(percent.into()) <= 1,
            "{share} of {percent} %"
        );
    }
    // None is usual.
    assert!(Warming::new(ColdServer::new(10, Duration::MAX), 0, 0.0).bears(0));
}

#[test]
fn a_scenario_may_have_no_time_and_no_calls() {
    let none = Scenario::dead().healthy_for(Duration::ZERO);
    let none = none.lasts(Duration::ZERO).well_for(Duration::ZERO);
    let report = simulate(&Config::new(), none);
    assert_eq!((report.figures().calls, report.opened()), (0, false));
    assert_eq!(report.time_until_closed(), Duration::ZERO);
}

#[test]
fn a_turn_of_a_flapping_resource_may_never_end() {
    let second = Duration::from_secs(1);
    let rules = Config::new();
    let up = simulate(&rules, Scenario::flapping(second, Duration::MAX));
    assert_eq!((up.trips(), up.is_closed()), (1, true), "{up}");
    let down = simulate(&rules, Scenario::flapping(Duration::MAX, second));
    let dead = simulate(&rules, Scenario::dead());
    assert_eq!(down.figures(), dead.figures());
}

#[test]
#[should_panic(expected = "set at most a year")]
fn a_scenario_without_an_end_is_refused() {
    let _ = Scenario::dead().lasts(Duration::MAX);
}

#[test]
#[should_panic(expected = "set fewer calls, or more callers")]
fn a_load_that_its_callers_cannot_make_is_refused() {
    let _ = simulate(&Config::new(), Scenario::dead().callers(1).load(1_000_001));
}
