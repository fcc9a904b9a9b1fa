// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search against trying everything in a smaller space.

use super::space::{Candidate, SETTINGS};
use super::*;
use crate::simulate::engine::{BreakerScope, Completion};
use atomic_breaker::{Failure, Outcome};

/// A log of nine minutes, 17 calls a second of 20 ms, and how calls end at a second of it.
fn log(ends: impl Fn(u64, &mut fastrand::Rng) -> Completion) -> CallLog {
    let mut random = fastrand::Rng::with_seed(3);
    let call = |number: u64| LoggedCall::new(number * 60_000, ends(number * 6 / 100, &mut random));
    CallLog::new((0..9_000).map(call).collect(), Vec::new())
}

const FAILED: Outcome = Outcome::Failure(Failure::new());

fn completion(ok: bool, ms: u64) -> Completion {
    let outcome = if ok { Outcome::Success } else { FAILED };
    Completion::new(outcome, Duration::from_millis(ms))
}

fn logs() -> [(&'static str, CallLog, BreakerScope); 6] {
    let down = |second: u64| second % 90 >= 60;
    let dead = log(|second, _| completion(!down(second), if down(second) { 1 } else { 20 }));
    let hangs = log(|second, _| completion(!down(second), if down(second) { 2_000 } else { 20 }));
    let errors = log(|second, random| {
        completion(random.u32(..100) >= if down(second) { 40 } else { 2 }, 20)
    });
    let flaps = log(|second, _| completion(!down(second) || second % 2 == 0, 20));
    let limited = log(|second, _| {
        let seconds = Duration::from_secs(90 - second % 90);
        if down(second) {
            let limited = Failure::retry_after(seconds).into();
            Completion::new(limited, Duration::from_millis(5))
        } else {
            completion(true, 20)
        }
    });
    let mut keys = dead.clone();
    for (number, call) in keys.calls.iter_mut().enumerate() {
        let key = number as u32 % 20;
        *call = call
            .key(key)
            .completed(completion(key != 7 || !down(call.start_us / 1_000_000), 20));
    }
    let each = BreakerScope::PerKey { capacity: 64 };
    [
        ("dead", dead, BreakerScope::Single),
        ("hangs", hangs, BreakerScope::Single),
        ("errors", errors, BreakerScope::Single),
        ("flaps", flaps, BreakerScope::Single),
        ("limited", limited, BreakerScope::Single),
        ("keys", keys, each),
    ]
}

/// Few enough to try all: 12 rules, of which two may have to last, 7 open times, 2 growths, 3 ways to probe and 2 to return.
fn small() -> SearchSpace {
    let mut space = SearchSpace::new([]);
    let mut place = 0;
    space.settings[0].retain(|_| {
        place += 1;
        place % 6 == 1
    });
    place = 0;
    space.settings[2].retain(|_| {
        place += 1;
        place % 2 == 0
    });
    space.settings[3].truncate(2);
    space.settings[4].truncate(3);
    space.settings[5].truncate(2);
    space.settings[6].truncate(2);
    space
}

fn all(space: &SearchSpace) -> Vec<Candidate> {
    let mut candidates = vec![[0; SETTINGS]];
    for (setting, length) in space.lengths().into_iter().enumerate() {
        let with = |candidate: Candidate| {
            (0..length).map(move |value| {
                let mut candidate = candidate;
                candidate[setting] = value as u16;
                candidate
            })
        };
        candidates = candidates.into_iter().flat_map(with).collect();
    }
    candidates.retain(|it| space.canonical(*it) == *it);
    candidates
}

#[test]
fn the_pick_is_within_five_percent_of_trying_everything() {
    for (name, mut log, breakers) in logs() {
        let space = small();
        let replay = Replay::new().breakers(breakers);
        let recommend = Recommend::new().replay(replay).tries(150);
        let (incidents, folds) = log.divide(replay.useful());
        assert!(incidents.len() >= 6, "{name}: {incidents:?}");
        let evaluator = Evaluator::new(&replay, recommend.weights, &log, folds);
        let cost = |evaluation: &Evaluation| recommend.weights.cost(&evaluation.tuned_on);
        let candidates = all(&space);
        assert!(candidates.len() > 5 * 150, "{}", candidates.len());
        let costs = candidates.iter().map(|candidate| {
            let evaluation = evaluator.evaluate(&space.config(*candidate));
            cost(&evaluation.unwrap())
        });
        let best = costs.min_by(f64::total_cmp).unwrap();
        let found = recommend
            .search(&evaluator, &space, incidents, |_| true)
            .unwrap();
        assert!(found.is_complete && found.tried <= 150);
        let pick = cost(&found.pick);
        println!(
            "{name}: {pick:.1}, at best {best:.1} of {}",
            candidates.len()
        );
        assert!(
            pick <= best * 1.05,
            "{name}: {pick} instead of {best}: {:?}",
            found.pick
        );
    }
}

#[test]
fn incidents_that_were_held_out_are_counted_apart() {
    for (name, mut log, breakers) in logs() {
        let replay = Replay::new().breakers(breakers);
        let found = Recommend::new().replay(replay).tries(60);
        let found = found.run(&mut log).unwrap();
        assert_eq!(found.held_out, found.incidents.len() / 3, "{name}");
        for tried in found.front.iter().chain([&found.pick]) {
            let mut sum = tried.tuned_on;
            sum += tried.checked_on;
            assert_eq!(sum, tried.all, "{name}");
            assert!(tried.checked_on.calls > 500 / 20, "{name}");
        }
        let healthy = |it: &Evaluation| it.tuned_on.healthy_rejected;
        assert!(
            found
                .front
                .windows(2)
                .all(|pair| healthy(&pair[0]) > healthy(&pair[1]))
        );
    }
}
