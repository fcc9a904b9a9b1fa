// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ten thousand keys, eight threads, hosts that fail at random, a million requests.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use atomic_breaker_server::{
    Clock, Guard, KeyedObserver, ManualClock, Registry, State, Transition,
};

use super::{MS, RULES, SECOND};

/// Per key: every transition, in the order of notification.
#[derive(Default)]
struct Ledger(Mutex<HashMap<u32, Vec<Transition>>>);

impl KeyedObserver<u32> for Ledger {
    fn transition(&self, key: &u32, transition: &Transition) {
        self.0
            .lock()
            .unwrap()
            .entry(*key)
            .or_default()
            .push(*transition);
    }
}

pub(super) fn seed() -> u64 {
    let given = std::env::var("BREAKER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        since.as_nanos() as u64
    })
}

/// Xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

/// The transitions of one key form one chain, each beginning where the one before ended. They are notified, and
/// read the clock, in nearly that order only. A key that was forgotten, while closed or when its open time had
/// long been over, begins in another slot, closed and with other epochs.
fn is_one_life(transitions: &mut Vec<Transition>) -> State {
    transitions.sort_by_key(|made| made.at_ms);
    let mut left: Vec<_> = transitions.drain(..).rev().collect();
    let mut state = State::Closed;
    let mut last: Option<Transition> = None;
    while !left.is_empty() {
        let goes_on = |made: &Transition| {
            let is_next = last
                .as_ref()
                .is_none_or(|last| made.epoch == (last.epoch + 1) % 512);
            made.from == state && (state == State::Closed || is_next)
        };
        let goes_on_somewhere = left.iter().rev().take(16).any(goes_on);
        let follows =
            |made: &Transition| goes_on(made) || (!goes_on_somewhere && made.from == State::Closed);
        let next = left.iter().rposition(follows);
        let Some(next) = next.filter(|next| left.len() - next <= 16) else {
            panic!("lost or doubled after {state}, {last:?}: {left:?}, {transitions:?}");
        };
        let made = left.remove(next);
        (state, last) = (made.to, Some(made));
        transitions.push(made);
    }
    state
}

/// Returns whether no caller needs to wait for the key that it opened.
fn is_over(last: &Transition, clock: &ManualClock) -> bool {
    // A half-open one after its lease of 30 s.
    let for_ms = last.open_for_ms.max(if last.to == State::HalfOpen {
        30_000
    } else {
        0
    });
    clock.now_ms().wrapping_sub(last.at_ms) >= for_ms
}

fn run(capacity: usize, keys: u64, requests: u64) {
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    let clock = ManualClock::new();
    let registry = Registry::<u32>::builder(RULES.open_for(SECOND))
        .clock(&clock)
        .capacity(capacity)
        .observer(Ledger::default())
        .build()
        .unwrap();
    // Those that fail all the time keep their slots, so that each has one life; the others come and go.
    for key in (0..keys as u32).step_by(16) {
        registry
            .set_config_of(&key, RULES.open_for(SECOND))
            .unwrap();
    }
    thread::scope(|scope| {
        for thread in 0..8 {
            let (registry, clock) = (&registry, &clock);
            scope.spawn(move || {
                let mut random = Random(seed ^ (thread + 1) << 48 | 1);
                for request in 0..requests / 8 {
                    let key = random.below(keys) as u32;
                    // One host in sixteen fails mostly.
                    let fails = if key.is_multiple_of(16) {
                        random.below(10) < 8
                    } else {
                        random.below(200) == 0
                    };
                    if let Ok(permit) = registry.of(key).acquire() {
                        use atomic_breaker_server::{AnyPermit, Failure, Outcome};
                        match (random.below(20), fails) {
                            (0, _) => permit.cancel(),
                            (_, true) => drop(permit.report(Failure::new().into())),
                            (_, false) => drop(permit.report(Outcome::Success)),
                        }
                    }
                    if request % 16 == 0 {
                        clock.advance(MS);
                    }
                }
            });
        }
    });
    let entries: HashMap<_, _> = registry
        .entries()
        .map(|entry| (*entry.key, entry.snapshot))
        .collect();
    assert!(entries.len() <= capacity);
    let mut ledger = registry.observer().0.lock().unwrap();
    let mut transitions = 0;
    for (key, made) in ledger.iter_mut() {
        transitions += made.len();
        let end = is_one_life(made);
        // Forgotten when it was over: not known any more, or known again since.
        let has_gone = made.last().is_some_and(|last| is_over(last, &clock));
        let is_closed = end == State::Closed || has_gone;
        let last = &made[made.len().saturating_sub(8)..];
        match entries.get(key) {
            Some(snapshot) if snapshot.state() != State::Closed => {
                assert_eq!(snapshot.entered(), end, "{key}: {snapshot:?}, {last:#?}");
            }
            _ => assert!(is_closed, "{key}: {last:#?}"),
        }
    }
    let open = entries
        .values()
        .filter(|it| it.state() != State::Closed)
        .count();
    assert!(transitions > 1_000 && open > 0);
    for (key, snapshot) in &entries {
        assert!(snapshot.state() == State::Closed || ledger.contains_key(key));
    }
    println!(
        "{transitions} transitions, {open} not closed, {:?}",
        registry.stats()
    );
}

#[test]
fn no_transition_is_lost_or_doubled() {
    run(10_000, 10_000, 1_000_000);
}

/// Slots change hands all the time.
#[test]
fn no_transition_is_lost_or_doubled_while_keys_are_evicted() {
    run(1_000, 10_000, 1_000_000);
}
