// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two notifiers and one keeper of the last state: at rest the keeper agrees with the word, because it reads
//! the word under its lock. And the control: if it reads before it locks, the same model fails.

use std::collections::HashSet;

use atomic_breaker::{Breaker, Config, ManualClock, Observer, Present, State, Transition};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::memory::LoomWord;
use super::model;

/// Keeps the last transition and the state.
struct Keeper {
    kept: Mutex<(Option<Transition>, State)>,
    is_read_under_the_lock: bool,
}

impl Observer for Keeper {
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        if self.is_read_under_the_lock {
            let mut kept = self.kept.lock().unwrap();
            if kept
                .0
                .is_none_or(|last| present.is_nearer(transition, &last))
            {
                kept.0 = Some(*transition);
            }
            kept.1 = present.state();
        } else {
            let state = present.state();
            *self.kept.lock().unwrap() = (Some(*transition), state);
        }
    }
}

/// One caller trips it, the other one forces it open. Returns the state of the word, and the kept transition
/// and state.
fn at_rest(is_read_under_the_lock: bool) -> (State, Option<State>, State) {
    let keeper = Keeper {
        kept: Mutex::new((None, State::Closed)),
        is_read_under_the_lock,
    };
    let breaker = Breaker::builder(Config::new(), ManualClock::new())
        .word(LoomWord::new())
        .observer(keeper)
        .build();
    let breaker = Arc::new(breaker);
    let other = breaker.clone();
    let tripping = thread::spawn(move || other.trip());
    breaker.force_open();
    tripping.join().unwrap();
    let (last, state) = *breaker.observer().kept.lock().unwrap();
    (breaker.state(), last.map(|last| last.to), state)
}

#[test]
fn at_rest_a_keeper_shows_the_word() {
    let results = model("a keeper that reads under its lock", || at_rest(true));
    assert_eq!(
        results,
        HashSet::from([(
            State::ForcedOpen,
            Some(State::ForcedOpen),
            State::ForcedOpen
        )])
    );
}

#[test]
fn a_keeper_that_reads_before_it_locks_shows_an_old_state() {
    let results = model("a keeper that reads before it locks", || at_rest(false));
    assert!(
        results.contains(&(State::ForcedOpen, Some(State::Open), State::Open)),
        "{results:?}"
    );
}
