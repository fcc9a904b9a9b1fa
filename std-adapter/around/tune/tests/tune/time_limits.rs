// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit that the answers of a log suggest.

use std::time::Duration;

use atomic_breaker_tune::{CallLog, Completion, Failure, LoggedCall, Outcome, Recommend};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A call each 10 ms.
fn call(number: u64, outcome: impl Into<Outcome>, took: Duration) -> LoggedCall {
    LoggedCall::new(number * 10_000, Completion::new(outcome.into(), took))
}

fn log(calls: impl Iterator<Item = LoggedCall>) -> CallLog {
    CallLog::new(calls.collect(), ["a", "b"].map(Into::into).into())
}

#[test]
fn a_limit_is_a_round_time_that_hardly_any_healthy_answer_reaches() {
    let mut random = fastrand::Rng::new();
    let seed = random.get_seed();
    for _ in 0..50 {
        let (base, tail) = (random.u64(1..400_000), random.u64(1..30));
        let times: Vec<u64> = (0..5_000)
            .map(|_| {
                let is_slow = random.u32(..50) == 0;
                base + random.u64(..base) + if is_slow { base * tail } else { 0 }
            })
            .collect();
        let took = times.iter().map(|us| Duration::from_micros(*us));
        let log = log(took
            .zip(0..)
            .map(|(took, number)| call(number, Outcome::Success, took)));
        let all = log.answer_times(&[]).0.unwrap();
        let limit = all.time_limit();
        let longer = times
            .iter()
            .filter(|us| Duration::from_micros(**us) > limit);
        assert!(longer.count() <= 5, "seed {seed}: {all:?}");
        let digits = limit.as_millis().to_string();
        assert!(
            "125".contains(digits.trim_end_matches('0')),
            "seed {seed}: {limit:?}"
        );
        let least = Duration::from_micros((all.of_1000_us + all.median_us).into());
        assert!(
            limit >= least && (limit == ms(1) || limit < least * 3),
            "seed {seed}: {limit:?}"
        );
    }
}

#[test]
fn steady_answers_get_as_much_time_again() {
    let log = log((0..1_000).map(|number| call(number, Outcome::Success, ms(20))));
    let all = log.answer_times(&[]).0.unwrap();
    assert_eq!(
        (all.answers, all.median_us, all.of_1000_us),
        (1_000, 20_000, 20_000)
    );
    assert_eq!(all.time_limit(), ms(50));
}

#[test]
fn too_few_answers_suggest_no_limit() {
    let log = log((0..999).map(|number| call(number, Outcome::Success, ms(20))));
    assert_eq!(log.answer_times(&[]), (None, Vec::new()));
    let empty = CallLog::new(Vec::new(), Vec::new());
    assert_eq!(empty.answer_times(&[]), (None, Vec::new()));
}

/// Its incidents last 20 s, and half of their calls are answered, after two seconds.
#[test]
fn answers_during_an_incident_do_not_count() {
    let calls = (0..60_000).map(|number| match number % 20_000 {
        ..18_000 => call(number, Outcome::Success, ms(20)),
        it if it % 2 == 0 => call(number, Failure::new(), ms(5_000)),
        _ => call(number, Outcome::Success, ms(2_000)),
    });
    let mut log = log(calls);
    let found = Recommend::new().tries(1).run(&mut log).unwrap();
    assert_eq!(found.incidents.len(), 3);
    let limit = |incidents| log.answer_times(incidents).0.unwrap().time_limit();
    assert_eq!(limit(&found.incidents), ms(50));
    assert_eq!(limit(&[]), ms(5_000), "with the answers of its incidents");
}

#[test]
fn failures_and_rejected_calls_are_no_answers() {
    let calls = (0..4_000).map(|number| match number % 4 {
        0 => call(number, Failure::new(), ms(9_000)),
        1 => call(number, Outcome::Ignored, ms(9_000)),
        2 => call(number, Outcome::Success, ms(9_000)).rejected(),
        _ => call(number, Outcome::Success, ms(20)),
    });
    let all = log(calls).answer_times(&[]).0.unwrap();
    assert_eq!((all.answers, all.of_1000_us), (1_000, 20_000));
}

#[test]
fn keys_have_times_of_their_own() {
    let calls = (0..11_000).map(|number| match number % 11 {
        0 => call(number, Outcome::Success, ms(700)).key(1),
        _ => call(number, Outcome::Success, ms(20)),
    });
    let (all, keys) = log(calls).answer_times(&[]);
    let limits: Vec<_> = keys
        .iter()
        .map(|(key, it)| (*key, it.time_limit()))
        .collect();
    assert_eq!(limits, [(1, ms(2_000)), (0, ms(50))]);
    assert_eq!(all.unwrap().time_limit(), ms(1_000));
}
