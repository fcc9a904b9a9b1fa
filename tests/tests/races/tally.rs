//! Races for the second word, the history of the last calls.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::tally::Call;
use atomic_breaker::{Cause, Config, LastCalls, Permit, State, Tally, Verdict};
use loom::sync::Arc;
use loom::thread;

use super::memory::LoomWord;
use super::{breaker_of, history, model};

fn last_calls(calls: u32, min_calls: u32) -> LastCalls<LoomWord> {
    LastCalls::over(LoomWord::new(), calls, min_calls, 100)
}

#[test]
fn two_calls_recorded_at_once_are_both_remembered() {
    model("two records", || {
        let tally = Arc::new(last_calls(4, 4));
        let other = tally.clone();
        let there = thread::spawn(move || {
            let _ = other.record(Call::failure(0, 1));
        });
        let _ = tally.record(Call::success(0));
        there.join().unwrap();
        assert_eq!(tally.seen_and_failed(), (2, 1));
    });
}

#[test]
fn records_of_two_epochs_never_mix() {
    model("record against record of another epoch", || {
        let tally = Arc::new(last_calls(4, 2));
        let _ = tally.record(Call::failure(1, 1));
        let other = tally.clone();
        let old = thread::spawn(move || {
            let _ = other.record(Call::failure(1, 1));
        });
        let verdict = tally.record(Call::failure(4, 1));
        old.join().unwrap();
        assert_eq!(verdict, Verdict::Keep, "one failure of the new epoch");
        assert_eq!(tally.seen_and_failed(), (1, 1), "of the one or the other");
    });
}

#[test]
fn two_failures_that_both_reach_the_ratio_trip_once() {
    let histories = model("ratio against ratio", || {
        let config = Config::new().tally_only().open_for(Duration::from_secs(1));
        let breaker = breaker_of(LoomWord::new(), config, last_calls(2, 1));
        let other = breaker.clone();
        let there = thread::spawn(move || {
            if let Ok(permit) = other.acquire() {
                permit.failure();
            }
        });
        if let Ok(permit) = breaker.acquire() {
            permit.failure();
        }
        there.join().unwrap();
        history(&breaker)
    });
    assert_eq!(histories, HashSet::from([vec![Cause::FailureRatio]]));
}

/// The word and the tally are two words: a reset between the failure's look at the first and its
/// record in the second must not let it count for the new epoch.
#[test]
fn a_failure_that_loses_against_a_reset_is_forgotten_by_the_tally() {
    let seen = model("failure against reset", || {
        let config = Config::new().tally_only().open_for(Duration::from_secs(1));
        let breaker = breaker_of(LoomWord::new(), config, last_calls(4, 2));
        breaker.acquire().unwrap().failure();
        let late = breaker.acquire().unwrap().into_token();
        let other = breaker.clone();
        let there = thread::spawn(move || other.resume(late).failure());
        breaker.reset();
        let call = breaker.acquire().map(Permit::failure).is_ok();
        there.join().unwrap();

        assert!(call, "closed after the reset");
        assert_eq!(breaker.state(), State::Closed, "one failure of two");
        (history(&breaker), breaker.tally().seen_and_failed())
    });
    assert_eq!(
        seen,
        HashSet::from([
            (vec![Cause::Manual], (1, 1)),
            (vec![Cause::FailureRatio, Cause::Manual], (1, 1)),
        ])
    );
}
