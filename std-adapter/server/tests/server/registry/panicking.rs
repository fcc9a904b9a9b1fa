// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys whose code panics: the panic reaches the caller, and changes nothing for other keys.

use std::cell::Cell;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use atomic_breaker_server::{Guard, ManualClock, Registry, State};

use super::RULES;

/// The place where the code of a key may panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Hash,
    Eq,
    Clone,
    Drop,
}

thread_local!(static ARMED: Cell<Option<(Where, u32)>> = const { Cell::new(None) });

/// Panics once, when the code of a key on this thread comes there for the so many-th time.
pub(super) fn arm(armed: Option<(Where, u32)>) {
    ARMED.set(armed);
}

fn pass(here: Where) {
    match ARMED.get() {
        Some((armed, 0)) if armed == here => {
            ARMED.set(None);
            panic!("armed: in a key's {here:?}");
        }
        Some((armed, left)) if armed == here => ARMED.set(Some((armed, left - 1))),
        _ => {}
    }
}

#[derive(Debug)]
pub(super) struct Key(pub(super) u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        pass(Where::Hash);
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        pass(Where::Eq);
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Self {
        pass(Where::Clone);
        Self(self.0)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        pass(Where::Drop);
    }
}

type Keys<'a> = Registry<Key, &'a ManualClock>;

fn fail(keys: &Keys<'_>, key: u32) {
    drop(keys.of(Key(key)).call(|| Err::<(), _>("no answer")));
}

const ALL: [Where; 4] = [Where::Hash, Where::Eq, Where::Clone, Where::Drop];

#[test]
fn a_panic_in_a_key_takes_no_slot_from_other_keys() {
    for here in ALL {
        for count in 0..12 {
            let clock = ManualClock::new();
            let keys = Registry::<Key>::builder(RULES).clock(&clock).capacity(4);
            let keys = keys.build().unwrap();
            fail(&keys, 1);
            arm(Some((here, count)));
            let _ = catch_unwind(AssertUnwindSafe(|| fail(&keys, 2)));
            arm(None);
            for key in [1, 2] {
                keys.command(&Key(key), |breaker| breaker.force_open())
                    .unwrap();
            }
            for key in 10..100 {
                fail(&keys, key);
            }
            for key in [1, 2] {
                assert_eq!(
                    keys.state(&Key(key)),
                    State::ForcedOpen,
                    "{here:?} {count} {key}"
                );
                assert!(keys.of(Key(key)).acquire().is_err());
            }
            let mut listed: Vec<_> = keys.entries().map(|entry| entry.key.0).collect();
            listed.sort_unstable();
            assert_eq!((listed.len(), &listed[..2]), (4, &[1, 2][..]), "{listed:?}");
        }
    }
}

#[test]
fn a_panic_in_a_key_hangs_no_other_call() {
    for here in ALL {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let clock = ManualClock::new();
            let keys = Registry::<Key>::builder(RULES.consecutive_failures(3));
            let keys = keys.clock(&clock).capacity(300);
            let keys = keys.build().unwrap();
            for key in 0..5_000 {
                arm(Some((here, key % 7)));
                let _ = catch_unwind(AssertUnwindSafe(|| fail(&keys, key)));
                arm(None);
                if key % 3 == 0 {
                    fail(&keys, key);
                }
            }
            for _ in 0..3 {
                fail(&keys, 7);
            }
            done.send(keys.state(&Key(7))).unwrap();
        });
        let state = is_done.recv_timeout(Duration::from_secs(120));
        assert_eq!(state, Ok(State::Open), "{here:?}");
    }
}

/// Has the same hash for all keys, so that the map compares them.
#[derive(Default)]
struct Same;

impl Hasher for Same {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _: &[u8]) {}
}

#[test]
fn a_key_whose_insertion_panics_is_not_listed() {
    let mut panics = 0;
    for count in 0..8 {
        let clock = ManualClock::new();
        let keys = Registry::<Key>::builder(RULES).clock(&clock);
        let keys = keys.hasher(BuildHasherDefault::<Same>::default());
        let keys = keys.build().unwrap();
        let fail = |key| drop(keys.of(Key(key)).call(|| Err::<(), _>("no answer")));
        fail(1);
        arm(Some((Where::Eq, count)));
        panics += u32::from(catch_unwind(AssertUnwindSafe(|| fail(2))).is_err());
        arm(None);
        // A list has the keys up to the last one that got a slot.
        fail(3);
        let listed: Vec<_> = keys.entries().map(|entry| entry.key.0).collect();
        for key in [1, 2, 3] {
            let is_found = keys.entry(&Key(key)).is_some();
            assert_eq!(is_found, listed.contains(&key), "{count}: {key}");
        }
    }
    assert!((3..8).contains(&panics), "{panics} of 8");
}
