// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a breaker's transitions for its fleet, and the effect of an action on a breaker that is called
//! meanwhile.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use atomic_breaker::{
    Breaker, Cause, ManualClock, Observer, Outcome, State, Transition, word::NativeWord,
};
use atomic_breaker_fleet::Notice;
use atomic_breaker_fleet::contract::{Action, Local};
use atomic_breaker_server::Config;

use super::support::{Instance, for_ms, period, rules};

/// Keeps the transitions.
#[derive(Default)]
struct Seen(Mutex<Vec<Transition>>);

impl Observer for &Seen {
    fn transition(&self, transition: &Transition) {
        self.0.lock().unwrap().push(*transition);
    }
}

impl Seen {
    fn last(&self) -> Transition {
        *self.0.lock().unwrap().last().expect("a transition")
    }
}

#[test]
fn a_breaker_restored_open_is_no_vote() {
    let breaker: Breaker<_, NativeWord> = Breaker::new(rules(), ManualClock::new());
    assert!(breaker.trip().is_some());
    let restored = breaker.restore().unwrap().expect("a transition");
    assert_eq!(
        (restored.to, restored.cause),
        (State::Open, Cause::Restored)
    );
    assert_eq!(Local::from_transition(&restored), None);
}

#[test]
fn a_probe_that_did_not_report_is_told() {
    let (seen, clock) = (Seen::default(), ManualClock::new());
    let rules = Config::new().probe_lease(Duration::from_secs(2));
    let breaker: Breaker<_, NativeWord, _, _> =
        Breaker::builder(rules, &clock).observer(&seen).build();
    breaker.trip();
    breaker.probe_now();
    let hung = breaker.acquire().unwrap();
    clock.advance(Duration::from_secs(2));
    let next = breaker.acquire().unwrap();
    assert_eq!(seen.last().cause, Cause::ProbeLost);
    assert_eq!(Local::from_transition(&seen.last()), Some(Local::ProbeLost));
    drop((hung, next));
}

/// As soon as it may probe, it makes a call of its own, which succeeds.
#[derive(Default)]
struct Hasty {
    successes: Mutex<u32>,
}

static HASTY: OnceLock<Breaker<ManualClock, NativeWord, (), Hasty>> = OnceLock::new();

impl Observer for Hasty {
    fn transition(&self, transition: &Transition) {
        if transition.to == State::HalfOpen {
            let breaker = HASTY.get().expect("it is built");
            breaker.acquire().unwrap().success();
        }
    }

    fn outcome(&self, outcome: Outcome) {
        assert_eq!(outcome, Outcome::Success);
        *self.successes.lock().unwrap() += 1;
    }
}

#[test]
fn a_breaker_that_a_call_has_closed_is_told_of_no_other_success() {
    let build = || {
        Breaker::builder(rules(), ManualClock::new())
            .observer(Hasty::default())
            .build()
    };
    let breaker = HASTY.get_or_init(build);
    breaker.trip();
    assert!(Action::Close.apply_to(&breaker).is_some());
    // As its open time grows.
    assert_eq!(breaker.state(), State::Returning);
    assert_eq!(*breaker.observer().successes.lock().unwrap(), 1);
}

#[test]
fn the_longest_time_from_others_is_the_longest_of_the_rules_with_its_jitter() {
    let mut instance = Instance::new(1);
    let hour = Duration::from_secs(3_600);
    instance
        .member
        .set_config(&Config::new().open_for(hour).jitter_percent(20));
    let mut endless = period(1, u32::MAX);
    endless.open_ms = u32::MAX;
    let opens = for_ms(&instance.hear(Notice::Open(endless)));
    // 72 minutes, and half a grace to a grace.
    assert!((4_536_000..=4_752_000).contains(&opens), "{opens}");
}
