// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker per key.
//!
//! | file | what |
//! |---|---|
//! | `keys` | who has a slot, what it costs |
//! | `eviction` | who loses a slot, and what becomes of calls under way |
//! | `attacked` | what attacks found |
//! | `beside` | random histories beside bare breakers, while rules with and without a failure ratio replace each other |
//! | `between` | slots that change hands between two steps of a call |
//! | `cap` | so many keys are shut out at a time: those that went down first |
//! | `cap_model` | random histories of them against a list |
//! | `classes` | rules by a function of the key |
//! | `counting` | what a permit says of its report before it is made |
//! | `crowded` | keys that are done with give way; one that fails is guarded, whatever the others do |
//! | `first_of` | the first of several keys that admits |
//! | `full` | a registry without room |
//! | `in_flight` | calls of a key that pile up |
//! | `observed` | observers that panic, or call the registry themselves; what they are notified of for slow calls |
//! | `panicking` | keys whose code panics |
//! | `model` | random histories against a map without bound |
//! | `present` | what an operator sees and does without taking a slot |
//! | `rules` | rules that are replaced while running, rules of one key |
//! | `share` | a share of the keys is shut out at a time |
//! | `search` | the search for a slot, and how long its result is kept |
//! | `told` | what observers are told, and what is shown of a registry |
//! | `words` | what a rejection says of the failure that opened a breaker |
//! | `waiting` | waiting for a key, trying again, time limits |
//! | `threads` | ten thousand keys, eight threads |

mod attacked;
mod beside;
mod between;
mod cap;
mod cap_crowded;
mod cap_model;
mod classes;
mod counting;
mod crowded;
mod eviction;
mod first_of;
mod full;
mod in_flight;
mod keys;
mod leaks;
mod model;
mod observed;
mod panicking;
mod present;
mod rules;
mod search;
mod share;
mod threads;
mod told;
#[cfg(feature = "tokio")]
mod waiting;
mod words;

use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_server::{
    Config, Guard, KeyedObserver, ManualClock, Registry, RegistryBuilder, Rejected, Transition,
    WhenFull,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Two failures in a row trip for ten seconds.
const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

type Keys<'a, O = ()> = Registry<u32, &'a ManualClock, (), O>;

fn build(clock: &ManualClock) -> RegistryBuilder<u32, &ManualClock> {
    Registry::<u32>::builder(RULES).clock(clock)
}

/// With a single slot, which key 0 keeps.
fn full(clock: &ManualClock, when_full: WhenFull) -> Keys<'_> {
    let keys = build(clock).capacity(1).when_full(when_full);
    let keys = keys.build().unwrap();
    keys.command(&0, |breaker| breaker.force_open()).unwrap();
    keys
}

fn fail<O: KeyedObserver<u32>>(keys: &Keys<'_, O>, key: u32) {
    let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
}

fn succeed<O: KeyedObserver<u32>>(keys: &Keys<'_, O>, key: u32) -> bool {
    keys.of(key).call(|| Ok::<_, &str>(())).is_ok()
}

/// Keeps what it is notified of.
#[derive(Debug, Default)]
struct Diary {
    transitions: Mutex<Vec<(u32, Transition)>>,
    rejected: Mutex<Vec<(u32, Rejected)>>,
}

impl KeyedObserver<u32> for Diary {
    fn transition(&self, key: &u32, transition: &Transition) {
        self.transitions.lock().unwrap().push((*key, *transition));
    }

    fn rejected(&self, key: &u32, rejected: Rejected) {
        self.rejected.lock().unwrap().push((*key, rejected));
    }
}
