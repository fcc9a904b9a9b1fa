//! The breakers of a run: the real ones, one for all calls or one per key.

use std::cell::RefCell;
use std::hash::{BuildHasherDefault, DefaultHasher};

use atomic_breaker::word::NativeWord;
use atomic_breaker::{Breaker, Config, LastCalls, Observer, Permit, State, Tally, Transition};
use atomic_breaker_server::SlidingRatio;
use atomic_breaker_server::{AnyPermit, KeyedObserver, KeyedPermit, Registry, RegistryError};

use crate::clock::VirtualClock;

/// What a run asks of the breakers: the right to one call of a key.
pub(crate) trait Guard: Copy {
    type Permit: AnyPermit;

    /// `None` if the call is rejected.
    fn acquire(self, key: u32) -> Option<Self::Permit>;
}

type One<'c, T> = Breaker<&'c VirtualClock, NativeWord, T, &'c History<'c>>;

impl<T: Tally> Guard for &One<'_, T> {
    type Permit = Permit<Self>;

    #[inline]
    fn acquire(self, _: u32) -> Option<Self::Permit> {
        Permit::acquire(self).ok()
    }
}

/// The same order of keys in every run.
type Hasher = BuildHasherDefault<DefaultHasher>;

type Keyed<'c, T> = Registry<u32, &'c VirtualClock, T, &'c History<'c>, Hasher>;

impl<T: Tally> Guard for &Keyed<'_, T> {
    type Permit = KeyedPermit<Self>;

    #[inline]
    fn acquire(self, key: u32) -> Option<Self::Permit> {
        KeyedPermit::acquire(self, key).ok()
    }
}

/// Which breakers a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One for all calls.
    One,
    /// One for each key, in a registry of that many slots.
    Each {
        /// How many keys it remembers, at least 1.
        capacity: usize,
    },
}

/// A change of state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// When, in microseconds since the beginning.
    pub at_us: u64,
    /// The key of the breaker.
    pub key: u32,
    /// What has changed.
    pub transition: Transition,
}

impl Change {
    /// Whether a breaker that let calls through has opened, rather than one whose probe failed.
    pub fn is_trip(&self) -> bool {
        self.transition.to == State::Open
            && matches!(self.transition.from, State::Closed | State::Returning)
    }
}

/// All changes of a run, in the order of time.
#[derive(Debug)]
pub(crate) struct History<'c> {
    clock: &'c VirtualClock,
    changes: RefCell<Vec<Change>>,
}

impl<'c> History<'c> {
    pub(crate) fn new(clock: &'c VirtualClock) -> Self {
        Self {
            clock,
            changes: RefCell::default(),
        }
    }

    pub(crate) fn take(&self) -> Vec<Change> {
        self.changes.take()
    }

    fn add(&self, key: u32, transition: Transition) {
        self.changes.borrow_mut().push(Change {
            at_us: self.clock.now_us(),
            key,
            transition,
        });
    }
}

impl Observer for History<'_> {
    fn transition(&self, transition: &Transition) {
        self.add(0, *transition);
    }
}

impl KeyedObserver<u32> for History<'_> {
    fn transition(&self, key: &u32, transition: &Transition) {
        self.add(*key, *transition);
    }
}

/// What to do with the breakers of a run, whatever their type.
pub(crate) trait Guarded {
    type Done;

    fn with(self, guard: impl Guard) -> Self::Done;
}

/// Does it with the breakers that the settings of a program would make: one, or one per key.
pub(crate) fn guarded<G: Guarded>(
    config: Config,
    keys: Keys,
    clock: &VirtualClock,
    history: &History<'_>,
    run: G,
) -> Result<G::Done, RegistryError> {
    let ratio = config.failure_ratio;
    if ratio.is_some_and(|ratio| ratio.calls().is_some()) {
        guarded_with(config, keys, clock, history, run, LastCalls::new)
    } else if ratio.is_some() {
        // All calls come from one thread, and it has one shard.
        let ratio = || SlidingRatio::<_, 1>::by(clock);
        guarded_with(config, keys, clock, history, run, ratio)
    } else {
        guarded_with(config, keys, clock, history, run, || ())
    }
}

/// Does it with a breaker that lets every call through and learns nothing.
pub(crate) fn unguarded<G: Guarded>(clock: &VirtualClock, run: G) -> G::Done {
    let history = History::new(clock);
    let breaker: One<'_, ()> = Breaker::builder(Config::new(), clock)
        .observer(&history)
        .build();
    breaker.disable();
    run.with(&breaker)
}

fn guarded_with<'c, T: Tally, G: Guarded>(
    config: Config,
    keys: Keys,
    clock: &'c VirtualClock,
    history: &'c History<'c>,
    run: G,
    mut tally: impl FnMut() -> T,
) -> Result<G::Done, RegistryError> {
    match keys {
        Keys::One => {
            let breaker: One<'c, T> = Breaker::builder(config, clock)
                .tally(tally())
                .observer(history)
                .try_build()?;
            Ok(run.with(&breaker))
        }
        Keys::Each { capacity } => {
            let registry: Keyed<'c, T> = Registry::builder(config)
                .capacity(capacity)
                .clock(clock)
                .tally(tally)
                .observer(history)
                .hasher(Hasher::default())
                .build()?;
            Ok(run.with(&registry))
        }
    }
}
