// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots that change hands between two steps of a call: while the clock is read, other calls are made.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Clock, Config, Failure, Guard, ManualClock, Registry, State,
};

use super::{Diary, RULES, SECOND};

/// An action, and the number of readings of the clock that come before it.
type Meanwhile = Option<(u32, Box<dyn FnOnce()>)>;

thread_local!(static MEANWHILE: RefCell<Meanwhile> = const { RefCell::new(None) });

fn meanwhile(after: u32, act: impl FnOnce() + 'static) {
    MEANWHILE.set(Some((after, Box::new(act))));
}

/// Returns whether the action was done; if not, it is forgotten.
fn was_done() -> bool {
    MEANWHILE.take().is_none()
}

#[derive(Debug, Default)]
struct Interrupted(ManualClock);

impl Clock for Interrupted {
    fn now_ms(&self) -> u32 {
        let act = MEANWHILE.with_borrow_mut(|it| match it {
            Some((0, _)) => it.take(),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        });
        if let Some((_, act)) = act {
            act();
        }
        self.0.now_ms()
    }
}

type Keys = Registry<u32, Interrupted, (), Diary>;

// The key whose breaker it was, as seen from there.
thread_local!(static OWNER: Cell<u32> = const { Cell::new(0) });

/// A single slot, for the rest of the program.
fn one_slot(rules: Config) -> &'static Keys {
    let keys = Registry::<u32>::builder(rules).capacity(1);
    let keys = keys
        .clock(Interrupted::default())
        .observer(Diary::default());
    keys.build().unwrap().leak()
}

fn fail(keys: &Keys, key: u32) {
    let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
}

fn trip(keys: &Keys, key: u32) {
    fail(keys, key);
    fail(keys, key);
}

/// A call of key 1 makes it half-open, or key 2, which has got its slot meanwhile: the observer is told of the one whose
/// breaker it was.
#[test]
fn a_change_is_told_of_the_key_whose_breaker_it_was() {
    // The word changes before some readings, and after others.
    let mut owners = Vec::new();
    for slow in [RULES, RULES.slow_call(SECOND)] {
        for after in 0..8 {
            let keys = one_slot(slow.probes(2).close_after(2));
            trip(keys, 1);
            keys.clock().0.advance(60 * SECOND);
            let is_half_open = || {
                keys.command_if_present(&1, |it| it.snapshot().entered()) == Some(State::HalfOpen)
            };
            let act = move || {
                let owner = if is_half_open() { 1 } else { 2 };
                trip(keys, 2);
                assert_eq!(keys.state(&2), State::Open);
                keys.clock().0.advance(10 * SECOND);
                OWNER.set(owner);
            };
            meanwhile(after, act);
            drop(keys.of(1).acquire());
            if !was_done() {
                break;
            }
            let transitions = keys.observer().transitions.lock().unwrap();
            let told = transitions.iter().map(|(key, made)| (*key, made.to));
            let told: Vec<_> = told.filter(|(_, to)| *to == State::HalfOpen).collect();
            assert_eq!(told, [(OWNER.get(), State::HalfOpen)], "reading {after}");
            owners.push(OWNER.get());
        }
    }
    assert!(owners.contains(&1) && owners.contains(&2), "{owners:?}");
}

/// The slot of key 1 seems to have changed hands while it is being taken, which then fails.
#[test]
fn a_failure_counts_that_is_reported_while_its_slot_is_not_given_away_after_all() {
    let keys = one_slot(RULES);
    fail(keys, 1);
    let permit = keys.of(1).acquire().unwrap();
    let (begin, is_begun) = channel();
    let reports = thread::spawn(move || {
        is_begun.recv().unwrap();
        permit.report(Failure::new().into())
    });
    // The first reading is for the search, the second for the key that is found.
    meanwhile(1, move || {
        begin.send(()).unwrap();
        thread::sleep(Duration::from_millis(50));
        panic!("in the clock");
    });
    let panicked = catch_unwind(AssertUnwindSafe(|| fail(keys, 2)));
    assert!(panicked.is_err() && was_done());
    let made = reports.join().unwrap();
    assert_eq!(made.map(|made| made.to), Some(State::Open));
    assert_eq!(keys.state(&1), State::Open);
}

/// While its slot is being taken, someone asks for key 1; the slot is given to key 2 before there is an answer.
#[test]
fn an_entry_is_never_that_of_a_key_which_has_lost_its_slot_meanwhile() {
    let keys = one_slot(RULES);
    trip(keys, 1);
    keys.clock().0.advance(60 * SECOND);
    let (begin, is_begun) = channel();
    let (look, is_looking) = channel();
    let (end, is_ended) = channel();
    let asks = thread::spawn(move || {
        is_begun.recv().unwrap();
        meanwhile(0, move || {
            look.send(()).unwrap();
            is_ended.recv_timeout(60 * SECOND).unwrap();
        });
        let entry = keys.entry(&1);
        assert!(was_done());
        entry
    });
    meanwhile(1, move || {
        begin.send(()).unwrap();
        is_looking.recv_timeout(60 * SECOND).unwrap();
    });
    fail(keys, 2);
    end.send(()).unwrap();
    assert!(was_done() && keys.entry(&2).is_some());
    let entry = asks.join().unwrap();
    assert!(entry.is_none(), "{entry:?}");
}
