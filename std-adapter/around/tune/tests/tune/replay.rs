// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log before other breakers.

use atomic_breaker_tune::{
    BreakerScope, CallLog, Completion, Config, Failure, Figures, LoggedCall, Outcome, Ratio,
    Replay, State,
};
use std::time::Duration;

const MS: u64 = 1_000;
const FAILED: Outcome = Outcome::Failure(Failure::new());

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn call(at_ms: u64, outcome: Outcome) -> LoggedCall {
    LoggedCall::new(at_ms * MS, Completion::new(outcome, ms(5)))
}

/// A call every 10 ms; those that begin in the given time fail.
fn outage(calls: u64, from_ms: u64, until_ms: u64) -> Vec<LoggedCall> {
    let calls = (0..calls).map(|number| {
        let at = number * 10;
        let down = (from_ms..until_ms).contains(&at);
        call(at, if down { FAILED } else { Outcome::Success })
    });
    calls.collect()
}

fn of(config: Config, calls: Vec<LoggedCall>) -> Figures {
    let log = CallLog::new(calls, Vec::new());
    Replay::new().run(&config, &log).unwrap().figures
}

#[test]
fn calls_that_do_not_overlap_are_counted_as_by_hand() {
    let config = Config::new().consecutive_failures(5).open_for(ms(1_000));
    // Fails from 100 ms on. The fifth failure ends at 145 ms: open until 1,145 ms. The probes of 1,150 ms and
    // 2,160 ms (open until 2,155 ms) fail, the one at 3,170 ms succeeds.
    let figures = of(config, outage(400, 100, 2_500));
    assert_eq!(figures.calls, 400);
    assert_eq!(figures.wasted, 5 + 2);
    assert_eq!(figures.wasted_time(), 7 * ms(5));
    // 150..1,150 · 1,160..2,160 · 2,170..3,170
    assert_eq!(figures.rejected, 100 + 100 + 100);
    // From 2,500 ms until the probe.
    assert_eq!(figures.healthy_rejected, 67);
    assert_eq!(figures.spared(), 300 - 67);
}

#[test]
fn calls_under_way_when_it_opens_are_wasted_too() {
    // Twenty calls begin within 20 ms and fail after 100 ms each.
    let calls = (0..20).map(|at| LoggedCall::new(at * MS, Completion::new(FAILED, ms(100))));
    let later = (0..20).map(|at| call(200 + at, Outcome::Success));
    let figures = of(
        Config::new().consecutive_failures(3),
        calls.chain(later).collect(),
    );
    assert_eq!((figures.wasted, figures.healthy_rejected), (20, 20));
    assert_eq!(figures.wasted_time(), 20 * ms(100));
}

#[test]
fn every_kind_of_rule_runs() {
    let ratio = Ratio::percent(50).min_calls(10);
    for config in [
        Config::new().failures_within(5, ms(1_000)),
        Config::new().tally_only().failure_ratio(ratio.of_last(20)),
        Config::new()
            .tally_only()
            .failure_ratio(ratio.within(ms(1_000))),
        Config::new()
            .consecutive_failures(1_000)
            .slow_call(ms(5))
            .failures_within(5, ms(1_000)),
    ] {
        let log = CallLog::new(outage(1_000, 3_000, 9_000), Vec::new());
        for breakers in [BreakerScope::Single, BreakerScope::PerKey { capacity: 4 }] {
            let replayed = Replay::new().breakers(breakers).run(&config, &log).unwrap();
            assert!(replayed.figures.rejected > 100, "{config:?} {breakers:?}");
            assert!(replayed.changes[0].is_trip());
        }
    }
    // More than the word can remember is an error, not another rule.
    let config = Config::new().failure_ratio(Ratio::percent(50).of_last(1_000).min_calls(10));
    let error = Replay::new().run(&config, &CallLog::default()).unwrap_err();
    assert!(error.to_string().contains("of_last"), "{error}");
}

#[test]
fn keys_have_breakers_of_their_own() {
    let down = outage(500, 0, 5_000).into_iter().map(|call| call.key(1));
    let calls: Vec<LoggedCall> = outage(500, 0, 0).into_iter().chain(down).collect();
    let log = CallLog::new(calls, Vec::new());
    let each = Replay::new().breakers(BreakerScope::PerKey { capacity: 8 });
    let replayed = each.run(&Config::new(), &log).unwrap();
    assert_eq!(replayed.figures.healthy_rejected, 0);
    assert!(replayed.figures.wasted <= 6);
    assert!(replayed.changes.iter().all(|change| change.key == 1));
    assert_eq!(replayed.changes[0].transition.to, State::Open);
}

#[test]
fn a_retry_after_says_for_how_long_once_the_rules_trip() {
    let asked = Completion::new(Failure::retry_after(ms(20_000)).into(), ms(5));
    let wasted_and_rejected = |failures| {
        let mut calls = outage(1_000, 0, 0);
        calls.push(LoggedCall::new(1_000 * MS, asked));
        let config = Config::new().consecutive_failures(failures);
        let figures = of(config.open_for(ms(100)), calls);
        (figures.wasted, figures.rejected)
    };
    // From 1,010 ms to the end at 9,990 ms.
    assert_eq!(wasted_and_rejected(1), (1, 899));
    // One beside successes.
    assert_eq!(wasted_and_rejected(2), (1, 0));
}

#[test]
fn a_call_that_was_rejected_ends_as_its_neighbour_did() {
    let rejected = |at_ms: u64, key: u32| call(at_ms, Outcome::Ignored).rejected().key(key);
    let log = CallLog::new(
        vec![
            call(0, Outcome::Success),
            rejected(10, 0),
            rejected(60, 0),
            // Another key says nothing about it.
            call(61, Outcome::Success).key(1),
            call(100, FAILED),
            rejected(900, 0),
            // Its key has no call that was made.
            rejected(901, 2),
        ],
        Vec::new(),
    );
    let calls = log.calls().iter();
    let outcomes: Vec<Outcome> = calls.map(|call| call.completion().outcome).collect();
    let (ok, bad) = (Outcome::Success, FAILED);
    assert_eq!(outcomes, [ok, ok, bad, ok, bad, bad, Outcome::Ignored]);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let config = Config::new()
        .open_for(ms(300))
        .jitter_percent(100)
        .gradual_return(10, ms(500));
    let log = CallLog::new(outage(2_000, 500, 15_000), Vec::new());
    for breakers in [BreakerScope::Single, BreakerScope::PerKey { capacity: 2 }] {
        let run = |seed| {
            Replay::new()
                .breakers(breakers)
                .seed(seed)
                .run(&config, &log)
                .unwrap()
        };
        assert_eq!(run(1).changes, run(1).changes);
        assert_ne!(run(1).changes, run(2).changes);
    }
}

#[test]
fn a_log_may_take_longer_than_the_clock_of_breakers_counts() {
    // 130 days; the clock wraps after 49.7.
    let day = 24 * 3_600 * 1_000;
    let calls = (0..130 * 24).map(|hour| {
        let down = hour % 240 < 12;
        call(
            hour * day / 24,
            if down { FAILED } else { Outcome::Success },
        )
    });
    let config = Config::new().consecutive_failures(2).open_for(ms(1_000));
    let replayed = Replay::new()
        .run(&config, &CallLog::new(calls.collect(), Vec::new()))
        .unwrap();
    assert_eq!(
        replayed
            .changes
            .iter()
            .filter(|change| change.is_trip())
            .count(),
        13
    );
    assert_eq!(replayed.figures.healthy_rejected, 0);
}

#[test]
fn useless_answers_count_as_wasted() {
    let late = Completion::new(Outcome::Success, ms(800));
    let log = CallLog::new(
        vec![LoggedCall::new(0, late), call(1_000, Outcome::Success)],
        Vec::new(),
    );
    let replay = Replay::new().useful_within(ms(500));
    let figures = replay.run(&Config::new(), &log).unwrap().figures;
    assert_eq!((figures.wasted, figures.wasted_time()), (1, ms(800)));
}

#[test]
fn callers_that_waited_make_more_calls_before_a_breaker() {
    // Four callers, a call every 20 ms; from 1 s to 3 s each waits 500 ms for a failure.
    let mut calls = Vec::new();
    for caller in 0..4 {
        let mut at = caller * 5;
        while at < 5_000 {
            let hangs = (1_000..3_000).contains(&at);
            let (outcome, took) = if hangs {
                (FAILED, 500)
            } else {
                (Outcome::Success, 2)
            };
            calls.push(LoggedCall::new(at * MS, Completion::new(outcome, ms(took))));
            at += took.max(20);
        }
    }
    let log = CallLog::new(calls, Vec::new());
    let config = Config::new().consecutive_failures(4).open_for(ms(250));
    let as_logged = Replay::new().run(&config, &log).unwrap().figures;
    let callers = Replay::new().callers(4, ms(20));
    let figures = callers.run(&config, &log).unwrap().figures;
    // The breaker frees them: they reject at their usual pace, but for those that wait.
    assert!(as_logged.calls < 640, "{as_logged:?}");
    assert!((750..820).contains(&figures.calls), "{figures:?}");
    // Four hang from 1 s on. Three of them call again at 1.5 s, before the fourth trips it; probes at 1.765 s and 2.515 s.
    assert_eq!(figures.wasted, 4 + 3 + 2);
    // Never tripped, it makes the calls of the log.
    let never = Config::new().consecutive_failures(1_000);
    let figures = callers.run(&never, &log).unwrap().figures;
    assert!(
        figures.calls.abs_diff(log.calls().len() as u64) <= 8,
        "{figures:?}"
    );
    assert!(figures.wasted.abs_diff(16) <= 4, "{figures:?}");
}

#[test]
fn open_time_after_a_key_s_last_call_counts_as_rejections() {
    // Down from 1,000 ms until its last call at 1,990 ms: 200 calls in two seconds, of which bursts are spread over ten.
    let config = Config::new().open_for(Duration::from_secs(60));
    let figures = of(config, outage(200, 1_000, 5_000));
    // The fifth failure ends at 1,045 ms: open until 61,045 ms.
    assert_eq!(figures.rejected_after_end, 20 * 59_055 / 1_000);
    assert_eq!((figures.calls, figures.healthy_rejected), (200, 0));
    assert_eq!(figures.useful_rejected(), figures.rejected_after_end);
    // One of three keys ends early, one is well, and one works again.
    let key = |key, from, until| {
        outage(2_000, from, until)
            .into_iter()
            .map(move |it| it.key(key))
    };
    let calls = key(0, 15_000, 20_000).filter(|call| call.start_us < 16_000 * MS);
    let calls = calls.chain(key(1, 0, 0)).chain(key(2, 5_000, 5_100));
    let log = CallLog::new(calls.collect(), Vec::new());
    let each = Replay::new().breakers(BreakerScope::PerKey { capacity: 8 });
    let figures = each.run(&config.open_for(ms(4_000)), &log).unwrap().figures;
    // 1,600 calls in 15.99 seconds; the key would be open until 19,045 ms.
    assert_eq!(figures.rejected_after_end, 306);
    let joined = Replay::new()
        .run(&config.open_for(ms(4_000)), &log)
        .unwrap();
    assert_eq!(joined.figures.rejected_after_end, 0);
}
