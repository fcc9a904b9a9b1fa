// SPDX-License-Identifier: MIT OR Apache-2.0
//! Incidents that are found in a log.

use atomic_breaker_tune::{
    CallLog, Completion, Config, Failure, Incident, LoggedCall, NoRecommendation, Outcome,
    Recommend, Replay,
};
use std::time::Duration;

/// The incidents of a log with a call each microsecond, of which it says whether it succeeds.
fn found(ok: impl Iterator<Item = bool>) -> Vec<Incident> {
    let call = |(number, ok): (usize, bool)| {
        let failed = Failure::new().into();
        let outcome = if ok { Outcome::Success } else { failed };
        LoggedCall::new(number as u64, Completion::new(outcome, Duration::ZERO))
    };
    let mut log = CallLog::new(ok.enumerate().map(call).collect(), Vec::new());
    match Recommend::new().tries(1).run(&mut log) {
        Ok(found) => found.incidents,
        Err(NoRecommendation::NoIncident { .. }) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_outage_is_found_from_its_first_failure_to_its_last() {
    let found = found((0..1_000).map(|number| !(300..400).contains(&number)));
    let [incident] = found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((incident.from_us, incident.until_us), (300, 399));
    assert_eq!((incident.calls, incident.failed), (100, 100));
}

#[test]
fn failures_in_a_row_are_an_incident_where_they_are_unusual() {
    let row = |length: usize, every: usize| {
        found((0..10_000).map(move |it| it % every != 1 && !(5_000..5_000 + length).contains(&it)))
    };
    // Without other failures, and with one of 20 calls.
    assert_eq!([4, 5].map(|length| row(length, usize::MAX).len()), [0, 1]);
    assert_eq!([11, 13].map(|length| row(length, 20).len()), [0, 1]);
}

#[test]
fn half_of_the_calls_failing_is_one_incident() {
    let mut random = fastrand::Rng::with_seed(7);
    let found = found((0..3_000).map(|number| number < 1_000 || random.bool()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].from_us.abs_diff(1_000) < 20 && found[0].until_us > 2_980);
}

#[test]
fn an_hour_with_eight_percent_errors_in_a_day_without_is_none() {
    let mut found_in = 0;
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let busy = 100_000..136_000;
        let found = found((0..200_000).map(|it| {
            let of_thousand = if busy.contains(&it) { 80 } else { 1 };
            random.u32(..1_000) >= of_thousand
        }));
        found_in += usize::from(!found.is_empty());
    }
    // While its share is not yet known, chance may look like an incident.
    assert!(found_in <= 2, "{found_in} of 20");
}

#[test]
fn an_outage_in_a_busy_hour_is_found() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let found =
            found((0..40_000).map(|it| !(20_000..20_200).contains(&it) && random.u32(..100) >= 8));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].from_us.abs_diff(20_000) < 100 && found[0].until_us.abs_diff(20_200) < 100
        );
    }
}

#[test]
fn a_busy_log_with_eight_percent_errors_has_none() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        assert_eq!(found((0..100_000).map(|_| random.u32(..100) >= 8)), []);
    }
}

/// 100 calls a second of one key, of which it says by second whether they succeed.
fn by_second(seconds: u64, ok: impl Fn(u64) -> bool) -> CallLog {
    let call = |number: u64| {
        let failed = Failure::new().into();
        let outcome = if ok(number / 100) {
            Outcome::Success
        } else {
            failed
        };
        let took = Duration::from_millis(2);
        LoggedCall::new(number * 10_000, Completion::new(outcome, took))
    };
    CallLog::new((0..seconds * 100).map(call).collect(), Vec::new())
}

#[test]
fn pieces_less_than_a_minute_apart_are_one_incident_and_held_out_together() {
    // Three times, ten minutes apart, it is down for two of seven seconds, twelve times.
    let is_piece = |second: u64| second % 600 < 84 && second % 600 % 7 < 2;
    let mut log = by_second(1_800, |second| !is_piece(second));
    let found = Recommend::new().tries(1).run(&mut log).unwrap();
    assert_eq!((found.incidents.len(), found.held_out), (3, 1));
    let incident = found.incidents[1];
    assert_eq!(incident.until_us - incident.from_us, 78_990_000);
    assert_eq!((incident.calls, incident.failed), (7_900, 2_400));
    // A minute later, it is another one.
    let mut log = by_second(600, |second| !matches!(second, 100..105 | 165..170));
    let found = Recommend::new().tries(1).run(&mut log).unwrap();
    assert_eq!(found.incidents.len(), 2);
}

#[test]
fn a_hang_that_callers_leave_is_an_incident_in_which_the_real_breaker_opens() {
    // For 30 seconds of every 300 nothing answers, and callers leave after a second.
    let call = |number: u64| {
        let second = Duration::from_secs(1);
        let completion = if number / 100 % 300 >= 270 {
            Completion::cancelled(second)
        } else {
            Completion::new(Outcome::Success, second / 100)
        };
        LoggedCall::new(number * 10_000, completion)
    };
    let mut log = CallLog::new((0..90_000).map(call).collect(), Vec::new());
    let found = Recommend::new().tries(300).run(&mut log).unwrap();
    assert_eq!((found.incidents.len(), found.without.wasted), (3, 9_000));
    let pick = found.pick;
    assert!(pick.config.slow_call_ms.is_some(), "{:?}", pick.config);
    assert!(pick.all.wasted * 4 < found.without.wasted, "{pick:?}");
    // As it is: without a limit for slow calls, a breaker counts none of them.
    let blind = Config::new().consecutive_failures(5);
    let replayed = Replay::new().run(&blind, &log).unwrap();
    assert_eq!((replayed.figures.rejected, replayed.changes.len()), (0, 0));
}

#[test]
fn callers_that_leave_soon_say_nothing() {
    let soon = Completion::cancelled(Duration::from_millis(200));
    let ok = Completion::new(Outcome::Success, Duration::from_millis(20));
    let call = |number: u64| {
        let completion = if number < 5_000 { ok } else { soon };
        LoggedCall::new(number * 10_000, completion)
    };
    let mut log = CallLog::new((0..9_000).map(call).collect(), Vec::new());
    let nothing = Recommend::new().run(&mut log).unwrap_err();
    assert!(
        nothing.to_string().contains("none of 9000 calls failed"),
        "{nothing}"
    );
}

#[test]
fn a_log_in_which_all_calls_failed_recommends_nothing() {
    let mut log = by_second(60, |_| false);
    let nothing = Recommend::new().run(&mut log).unwrap_err();
    assert!(matches!(
        nothing,
        NoRecommendation::AllFailed { calls: 6_000 }
    ));
    assert!(
        nothing.to_string().contains("none of 6000 calls succeeded"),
        "{nothing}"
    );
}
