// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races for the second word, the history of the last calls.

use std::collections::HashSet;
use std::sync::Arc as Plain;
use std::time::Duration;

use atomic_breaker::tally::Call;
use atomic_breaker::{
    Breaker, Cause, Config, LastCalls, ManualClock, Observer, Permit, Ratio, State, Tally, Token,
    Transition, Verdict,
};
use loom::sync::Arc;
use loom::thread;

use super::memory::LoomWord;
use super::{breaker_of, history, model};

fn last_calls() -> LastCalls<LoomWord> {
    LastCalls::over(LoomWord::new())
}

/// Trips when at least `min_calls` of the last calls were seen and all of them failed.
fn all_of(calls: u32, min_calls: u32) -> Ratio {
    Ratio::percent(100).of_last(calls).min_calls(min_calls)
}

fn config(ratio: Ratio) -> Config {
    Config::new()
        .tally_only()
        .failure_ratio(ratio)
        .open_for(Duration::from_secs(1))
}

#[test]
fn two_calls_recorded_at_once_are_both_remembered() {
    model("two records", || {
        let tally = Arc::new(last_calls());
        let ratio = Some(all_of(4, 4));
        let other = tally.clone();
        let there = thread::spawn(move || {
            let _ = other.record(Call::failure(0, 1), ratio);
        });
        let _ = tally.record(Call::success(0), ratio);
        there.join().unwrap();
        assert_eq!(tally.seen_and_failed(), (2, 1));
    });
}

#[test]
fn records_of_two_epochs_never_mix() {
    model("record against record of another epoch", || {
        let tally = Arc::new(last_calls());
        let ratio = Some(all_of(4, 2));
        let _ = tally.record(Call::failure(1, 1), ratio);
        let other = tally.clone();
        let old = thread::spawn(move || {
            let _ = other.record(Call::failure(1, 1), ratio);
        });
        let verdict = tally.record(Call::failure(4, 1), ratio);
        old.join().unwrap();
        assert_eq!(verdict, Verdict::Keep, "one failure of the new epoch");
        assert_eq!(tally.seen_and_failed(), (1, 1), "of the one or the other");
    });
}

#[test]
fn two_failures_that_both_reach_the_ratio_trip_once() {
    let histories = model("ratio against ratio", || {
        let breaker = breaker_of(LoomWord::new(), config(all_of(2, 1)), last_calls());
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
        let breaker = breaker_of(LoomWord::new(), config(all_of(4, 2)), last_calls());
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

/// One caller resets, another one fails. Returns the epoch in which the other one was admitted, and the
/// numbers that are remembered in the end.
fn a_failure_around_a_reset<T, O>(tally: T, observer: O, memory: &Memory) -> (u64, (u32, u32))
where
    T: Tally + Send + Sync + 'static,
    O: Observer + Send + Sync + 'static,
{
    let breaker = Breaker::builder(config(all_of(4, 4)), ManualClock::new())
        .word(LoomWord::new())
        .tally(tally)
        .observer(observer)
        .build();
    let breaker = Arc::new(breaker);
    breaker.acquire().unwrap().failure();
    let other = breaker.clone();
    let there = thread::spawn(move || {
        let (granted, started) = other.acquire().unwrap().into_token().into_raw();
        other.resume(Token::from_raw(granted, started)).failure();
        granted >> 55
    });
    breaker.reset();
    let epoch = there.join().unwrap();
    (epoch, memory.seen_and_failed())
}

type Memory = Plain<LastCalls<LoomWord>>;

/// A call of the old epoch is forgotten, or, if it comes late, stands alone in the memory, where the next
/// call of the new epoch takes its place. One of the new epoch is never forgotten: the memory is cleared
/// before the reset is made.
#[test]
fn a_call_of_the_new_epoch_is_not_forgotten_with_the_old_ones() {
    let seen = model("record against the clearing of a reset", || {
        let memory = Memory::new(last_calls());
        a_failure_around_a_reset(memory.clone(), (), &memory)
    });
    assert_eq!(seen, HashSet::from([(0, (0, 0)), (0, (1, 1)), (1, (1, 1))]));
}

/// A memory that is cleared too late: when the transition is reported, after it was made.
struct ClearedLate(Memory);

impl Tally for ClearedLate {
    fn memory(&self) -> atomic_breaker::Memory {
        self.0.memory()
    }

    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        self.0.record(call, ratio)
    }

    fn clear(&self) {}
}

impl Observer for ClearedLate {
    fn transition(&self, _transition: &Transition) {
        self.0.clear();
    }
}

#[test]
fn a_memory_that_is_cleared_after_the_reset_would_forget_a_call_of_the_new_epoch() {
    let seen = model("control", || {
        let memory = Memory::new(last_calls());
        let [tally, observer] = [(); 2].map(|()| ClearedLate(memory.clone()));
        a_failure_around_a_reset(tally, observer, &memory)
    });
    assert!(seen.contains(&(1, (0, 0))), "{seen:?}");
}

/// Sixteen transitions later the epoch looks the same: the history must have been forgotten when the breaker closes.
fn a_failure_after_sixteen_transitions<T: Tally>(tally: T) -> State {
    let breaker = breaker_of(LoomWord::new(), config(all_of(4, 2)), tally);
    breaker.acquire().unwrap().failure();
    for _ in 0..16 {
        breaker.reset();
    }
    breaker.acquire().unwrap().failure();
    breaker.state()
}

#[test]
fn a_forgotten_history_stays_forgotten_after_sixteen_transitions() {
    let states = model("sixteen transitions", || {
        a_failure_after_sixteen_transitions(last_calls())
    });
    assert_eq!(states, HashSet::from([State::Closed]));
    let memory = || ClearedLate(Memory::new(last_calls()));
    let states = model("control", move || {
        a_failure_after_sixteen_transitions(memory())
    });
    assert_eq!(
        states,
        HashSet::from([State::Open]),
        "by a failure from before"
    );
}
