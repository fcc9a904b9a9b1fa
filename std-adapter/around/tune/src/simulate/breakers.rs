// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers of a run: the real ones, one for all calls or one per key.

use std::cell::RefCell;

use atomic_breaker::{Config, LastCalls, Observer, State, Tally, Transition};
use atomic_breaker_server::{KeyedObserver, SlidingRatio};

use super::clock::VirtualClock;

/// The calls that share a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerScope {
    /// All calls share a breaker.
    Single,
    /// Calls of the same key share a breaker of a registry.
    PerKey {
        /// The number of keys that the registry remembers, at least 1.
        capacity: usize,
    },
}

/// A change of state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateChange {
    /// The time of the transition, in microseconds since the beginning of the run.
    pub at_us: u64,
    /// The key of the breaker; 0 where there is one for all calls.
    pub key: u32,
    /// The transition itself.
    pub transition: Transition,
}

impl StateChange {
    /// Returns whether a breaker that let calls through has opened, rather than one whose probe
    /// failed.
    pub fn is_trip(&self) -> bool {
        self.transition.to == State::Open
            && matches!(self.transition.from, State::Closed | State::Returning)
    }
}

/// All changes of a run, in the order of time.
#[derive(Debug)]
pub(crate) struct ChangeLog<'c> {
    clock: &'c VirtualClock,
    changes: RefCell<Vec<StateChange>>,
}

impl<'c> ChangeLog<'c> {
    pub(crate) fn new(clock: &'c VirtualClock) -> Self {
        Self {
            clock,
            changes: RefCell::default(),
        }
    }

    pub(crate) fn take(&self) -> Vec<StateChange> {
        self.changes.take()
    }

    fn add(&self, key: u32, transition: Transition) {
        self.changes.borrow_mut().push(StateChange {
            at_us: self.clock.now_us(),
            key,
            transition,
        });
    }
}

impl Observer for ChangeLog<'_> {
    fn transition(&self, transition: &Transition) {
        self.add(0, *transition);
    }
}

impl KeyedObserver<u32> for ChangeLog<'_> {
    fn transition(&self, key: &u32, transition: &Transition) {
        self.add(*key, *transition);
    }
}

/// The memory that the rules ask for: a run takes any rules, so its type is known only then.
pub(crate) type AnyTally<'c> = Option<Box<dyn Tally + 'c>>;

pub(crate) fn memory<'c>(config: &Config, clock: &'c VirtualClock) -> AnyTally<'c> {
    let ratio = config.failure_ratio?;
    Some(if ratio.calls().is_some() {
        Box::new(LastCalls::<_>::new())
    } else {
        // All calls come from one thread, and it has one shard.
        Box::new(SlidingRatio::<_, 1>::by(clock))
    })
}
