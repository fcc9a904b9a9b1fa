// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events that observers are notified of, and the observers that are notified of none; the status of a registry.

use std::fmt::Debug;
use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, FailedCall, Failure, Guard, KeyGuard, KeyedObserver, ManualClock, OnKeyTransition,
    OneBreaker, Outcome, Present, Registry, Rejected, State, Transition, wait::Awaited,
};

use super::{RULES, SECOND, build};

/// Keeps all that it is told; whether it listens is said when it is made.
#[derive(Debug)]
struct Told {
    is_listening: bool,
    all: Mutex<Vec<String>>,
}

impl Told {
    const fn new(is_listening: bool) -> Self {
        let all = Mutex::new(Vec::new());
        Self { is_listening, all }
    }

    fn note(&self, key: u32, what: impl Debug) {
        let what = format!("{key} {what:?}");
        self.all.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.all.lock().unwrap())
    }
}

impl KeyedObserver<u32> for &Told {
    fn is_listening(&self) -> bool {
        self.is_listening
    }

    fn changed(&self, key: &u32, transition: &Transition, _: Present<'_>) {
        self.note(*key, transition.to);
    }

    fn opened(&self, key: &u32, transition: &Transition, _: Present<'_>, last_failure: &str) {
        self.note(*key, (transition.to, last_failure));
    }

    fn rejected(&self, key: &u32, rejected: Rejected) {
        self.note(*key, ("rejected", rejected.state()));
    }

    fn outcome(&self, key: &u32, outcome: Outcome) {
        self.note(*key, outcome);
    }

    fn failed(&self, key: &u32, failed: &FailedCall<'_>) {
        let why = failed.why().to_string();
        self.note(*key, (failed.is_probe(), failed.took(), why));
    }

    fn cancelled(&self, key: &u32) {
        self.note(*key, "cancelled");
    }
}

/// One of each: calls by key and inside of a command, with and without a slot.
fn all_events<O: KeyedObserver<u32>>(clock: &ManualClock, observer: O) {
    let rules = RULES.slow_call(60 * SECOND);
    let keys = Registry::<u32>::builder(rules).clock(clock);
    let keys = keys.observer(observer).build().unwrap();
    keys.of(1).acquire().unwrap().report(Outcome::Success);
    drop(keys.of(1).acquire().unwrap());
    for why in ["503", "504"] {
        let permit = keys.of(1).acquire().unwrap();
        clock.advance(SECOND);
        permit.report_because(Failure::new().into(), || why.to_owned());
    }
    assert!(keys.of(1).acquire().is_err());
    clock.advance(10 * SECOND);
    drop(keys.of(1).acquire().unwrap());
    keys.of(1).acquire().unwrap().report(Outcome::Success);
    let inside = keys.command(&2, |breaker| {
        breaker.acquire().unwrap().report(Outcome::Success);
        drop(breaker.acquire().unwrap());
        breaker.trip();
        breaker.acquire().is_err()
    });
    assert_eq!(inside, Ok(true));
}

#[test]
fn an_observer_is_told_of_every_call_and_every_change_also_inside_of_a_command() {
    let (clock, told) = (ManualClock::starting_at(5), Told::new(true));
    all_events(&clock, &told);
    let failure = Outcome::from(Failure::new());
    let took = |why: &str| (false, Some(SECOND), why.to_owned());
    let expected = [
        format!("1 {:?}", Outcome::Success),
        "1 \"cancelled\"".to_owned(),
        format!("1 {failure:?}"),
        format!("1 {:?}", took("503")),
        format!("1 {:?}", (State::Open, "504")),
        format!("1 {failure:?}"),
        format!("1 {:?}", took("504")),
        format!("1 {:?}", ("rejected", State::Open)),
        format!("1 {:?}", State::HalfOpen),
        "1 \"cancelled\"".to_owned(),
        format!("1 {:?}", State::Closed),
        format!("1 {:?}", Outcome::Success),
        format!("2 {:?}", Outcome::Success),
        "2 \"cancelled\"".to_owned(),
        format!("2 {:?}", State::Open),
        format!("2 {:?}", ("rejected", State::Open)),
    ];
    let mut seen = told.take();
    let mut expected = expected.to_vec();
    // Whether a change or the outcome that caused it comes first is not promised.
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected);
}

#[test]
fn an_observer_that_does_not_listen_is_told_nothing() {
    let (clock, told) = (ManualClock::starting_at(5), Told::new(false));
    all_events(&clock, &told);
    all_events(&clock, ((), &told));
    assert_eq!(told.take(), [""; 0]);
    assert!(!KeyedObserver::<u32>::is_listening(&()));
}

#[test]
fn a_closure_is_told_of_transitions_with_the_key() {
    let (clock, seen) = (ManualClock::new(), Mutex::new(Vec::new()));
    let note = |key: &u32, made: &Transition| seen.lock().unwrap().push((*key, made.to));
    all_events(&clock, OnKeyTransition(note));
    let of_one = [State::Open, State::HalfOpen, State::Closed].map(|state| (1, state));
    let seen = seen.into_inner().unwrap();
    assert_eq!(
        (&seen[..3], &seen[3..]),
        (&of_one[..], &[(2, State::Open)][..])
    );
}

#[test]
fn what_a_slow_call_says_is_how_long_it_took_and_the_limit() {
    let clock = ManualClock::starting_at(5);
    let keys = Registry::<u32>::builder(RULES.slow_call(SECOND)).clock(&clock);
    let keys = keys.build().unwrap();
    for _ in 0..2 {
        let slow = keys.of(1).acquire().unwrap();
        clock.advance(Duration::from_millis(2_500));
        slow.report(Outcome::Success);
    }
    let rejection = keys.of(1).acquire().unwrap_err();
    let says = "too slow: took 2.5s, limit 1s";
    assert_eq!(&*rejection.last_failure.unwrap().text, says);
}

/// Says which process it is.
#[derive(Debug)]
struct Numbered(ManualClock);

impl atomic_breaker_server::Clock for Numbered {
    fn now_ms(&self) -> u32 {
        self.0.now_ms()
    }

    fn entropy(&self) -> u32 {
        77
    }
}

#[test]
fn what_waits_for_a_key_sees_its_changes_and_the_number_of_the_process() {
    let keys = Registry::<u32>::builder(RULES).clock(Numbered(ManualClock::new()));
    let keys = keys.build().unwrap();
    let key = KeyGuard::new(&keys, 1);
    let awaited = OneBreaker::awaited(&key);
    assert_eq!(awaited.entropy(), 77);
    let absent = awaited.epoch();
    keys.command(&1, |breaker| breaker.trip()).unwrap();
    let open = awaited.epoch();
    keys.command(&1, |breaker| breaker.reset()).unwrap();
    assert!(absent != open && open != awaited.epoch());
}

#[test]
fn a_registry_and_its_builder_show_how_many_keys_there_are_and_the_rules() {
    let clock = ManualClock::new();
    let rules = RULES.consecutive_failures(77);
    let builder = build(&clock).capacity(8);
    let builder = builder.rules_by([(7_u32, rules)], |key| key % 10);
    let shown = format!("{builder:?}");
    assert!(shown.contains("failures: 77"), "{shown}");
    let keys = builder.build().unwrap();
    super::fail(&keys, 1);
    assert_eq!(format!("{keys:?}"), "Registry { keys: 1, capacity: 8, .. }");
    // What a key would have without its own.
    keys.set_config_of(&17, RULES.consecutive_failures(5))
        .unwrap();
    keys.set_config_of(&18, RULES.consecutive_failures(5))
        .unwrap();
    assert_eq!(keys.config_without_own(&17), rules);
    assert_eq!(keys.config_without_own(&18), RULES);
}
