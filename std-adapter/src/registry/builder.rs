//! How a registry is made.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use atomic_breaker::{Clock, Config, ConfigError, Tally, Transition};

use super::insertion::Places;
use super::named::AsHashed;
use super::rules::{RuleTable, Ruleset};
use super::slot::Slot;
use super::{OnKeyTransition, Registry};
use crate::StdClock;
use crate::resource::Enforcement;

/// What becomes of a key that fails when no slot is to be had, because all keys that have one are open or
/// pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Its calls pass, and their failures do not count.
    #[default]
    Pass,
    /// All keys without a slot share one breaker, until there is room again: their failures add up, and
    /// when it opens they are rejected together.
    Share,
    /// Calls of keys without a slot are rejected, until there is room again.
    Reject,
}

/// The parts of a [`Registry`].
#[must_use]
#[derive(Clone, Debug)]
pub struct RegistryBuilder<K, C = StdClock, T = (), O = (), S = RandomState> {
    config: Config,
    capacity: usize,
    when_full: WhenFull,
    clock: C,
    observer: O,
    hasher: S,
    _of: PhantomData<fn(K) -> T>,
}

impl<K> RegistryBuilder<K> {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            capacity: 4_096,
            when_full: WhenFull::Pass,
            clock: StdClock,
            observer: (),
            hasher: RandomState::new(),
            _of: PhantomData,
        }
    }
}

impl<K, C, T, O, S> RegistryBuilder<K, C, T, O, S> {
    /// How many keys it remembers, 4,096 unless set, at least 1 and at most 16 million. Each takes about
    /// 140 bytes, 300 more once it has opened, what is behind the key, and what its memory of calls takes.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = keys;
        self
    }

    /// What becomes of keys for which there is no slot.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Where the time comes from.
    pub fn clock<D: Clock>(self, clock: D) -> RegistryBuilder<K, D, T, O, S> {
        let observer = self.observer;
        RegistryBuilder {
            config: self.config,
            capacity: self.capacity,
            when_full: self.when_full,
            clock,
            observer,
            hasher: self.hasher,
            _of: PhantomData,
        }
    }

    /// A memory of calls per slot, for rules such as a failure ratio: `.tally::<LastCalls>()`.
    pub fn tally<U: Tally + Default>(self) -> RegistryBuilder<K, C, U, O, S> {
        RegistryBuilder {
            config: self.config,
            capacity: self.capacity,
            when_full: self.when_full,
            clock: self.clock,
            observer: self.observer,
            hasher: self.hasher,
            _of: PhantomData,
        }
    }

    /// Who is notified of what happens: a [`KeyedObserver`](super::KeyedObserver).
    pub fn observer<P>(self, observer: P) -> RegistryBuilder<K, C, T, P, S> {
        RegistryBuilder {
            config: self.config,
            capacity: self.capacity,
            when_full: self.when_full,
            clock: self.clock,
            observer,
            hasher: self.hasher,
            _of: PhantomData,
        }
    }

    /// A closure that is notified of transitions.
    pub fn on_transition<F: Fn(&K, &Transition)>(
        self,
        notify: F,
    ) -> RegistryBuilder<K, C, T, OnKeyTransition<F>, S> {
        self.observer(OnKeyTransition(notify))
    }

    /// How keys are hashed. [`RandomState`] unless set, which keeps those who can choose keys from choosing
    /// collisions.
    pub fn hasher<H: BuildHasher>(self, hasher: H) -> RegistryBuilder<K, C, T, O, H> {
        RegistryBuilder {
            config: self.config,
            capacity: self.capacity,
            when_full: self.when_full,
            clock: self.clock,
            observer: self.observer,
            hasher,
            _of: PhantomData,
        }
    }
}

impl<K, C, T, O, S> RegistryBuilder<K, C, T, O, S>
where
    K: Hash + Eq,
    C: Clock,
    T: Tally + Default,
    S: BuildHasher,
{
    /// The registry.
    ///
    /// # Errors
    /// [`RegistryError`] says which setting does not fit, and what to do.
    pub fn build(self) -> Result<Registry<K, C, T, O, S>, RegistryError> {
        self.build_with(T::default)
    }
}

impl<K, C, T, O, S> RegistryBuilder<K, C, T, O, S>
where
    K: Hash + Eq,
    C: Clock,
    S: BuildHasher,
{
    /// [`build`](Self::build) with memories of calls that `tally` makes, one for each slot: those that need more than a
    /// default, such as the registry's own clock.
    ///
    /// ```
    /// # #[cfg(feature = "sliding")] {
    /// use atomic_breaker_std::registry::Registry;
    /// use atomic_breaker_std::{Config, ManualClock, Ratio, SlidingRatio};
    /// use std::time::Duration;
    ///
    /// static CLOCK: ManualClock = ManualClock::new();
    ///
    /// let ratio = Ratio::percent(50).within(Duration::from_secs(10));
    /// let tenants = Registry::<u32>::builder(Config::new().failure_ratio(ratio))
    ///     .clock(&CLOCK)
    ///     .build_with(|| SlidingRatio::<_, 1>::by(&CLOCK))?;
    /// # let _ = tenants;
    /// # }
    /// # Ok::<(), atomic_breaker_std::registry::RegistryError>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_with<U: Tally>(
        self,
        mut tally: impl FnMut() -> U,
    ) -> Result<Registry<K, C, U, O, S>, RegistryError> {
        check_capacity(self.capacity)?;
        // One more is shared by those who got none.
        let slots: Box<[_]> = (0..=self.capacity).map(|_| Slot::new(tally())).collect();
        let rules = Ruleset::try_new(self.config, &self.clock, &slots[0].tally)?;
        Ok(Registry {
            slots,
            map: papaya::HashMap::builder()
                .capacity(self.capacity)
                .hasher(AsHashed::default())
                .build(),
            hasher: self.hasher,
            places: Mutex::new(Places::new()),
            full_until_ms: AtomicU32::new(0),
            when_full: self.when_full,
            table: RuleTable::new(rules),
            rules: AtomicU16::new(0),
            clock: self.clock,
            observer: self.observer,
            enforcement: Enforcement::new(),
            inserted: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            unguarded: AtomicU64::new(0),
        })
    }
}

const MAX_CAPACITY: usize = 1 << 24;

/// Whether there can be a registry of so many keys.
pub(crate) const fn check_capacity(keys: usize) -> Result<(), RegistryError> {
    match keys {
        0 => Err(RegistryError::NoCapacity),
        1..=MAX_CAPACITY => Ok(()),
        _ => Err(RegistryError::CapacityTooLarge),
    }
}

/// Why there is no registry, or no slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryError {
    /// The rules do not fit.
    Config(ConfigError),
    /// A capacity of 0.
    NoCapacity,
    /// A capacity of more than 16 million.
    CapacityTooLarge,
    /// No slot is to be had for this key.
    Full,
    /// More than 65,536 different rules were set since the registry was made.
    TooManyRules,
}

impl From<ConfigError> for RegistryError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::NoCapacity => {
                f.write_str("a registry with a capacity of 0 remembers no key: set at least 1")
            }
            Self::CapacityTooLarge => f.write_str(
                "a registry holds at most 16777216 keys: lower the capacity, or take several registries",
            ),
            Self::Full => f.write_str(
                "all slots of the registry are taken by keys that are open, held or pinned: raise its capacity",
            ),
            Self::TooManyRules => f.write_str(
                "a registry takes at most 65536 different rules in its life: set rules that were set before",
            ),
        }
    }
}

impl Error for RegistryError {}
