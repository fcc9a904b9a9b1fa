// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds a registry.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use atomic_breaker::{Clock, Config, Tally, Transition};

use super::cap::Cap;
use super::classes::RulesBy;
use super::error::check_capacity;
use super::named::AsHashed;
use super::ruleset::{RuleTable, Ruleset};
use super::slot::Slot;
use super::{OnKeyTransition, Registry, RegistryError, WhenFull};
use crate::{Enforcement, StdClock};

/// The parts of a [`Registry`]. `T` is a function that creates the memory of calls of a slot.
#[must_use]
#[derive(Clone, Debug)]
pub struct RegistryBuilder<K, C = StdClock, T = fn(), O = (), S = RandomState> {
    settings: Settings<K>,
    clock: C,
    tally: T,
    observer: O,
    hasher: S,
}

#[derive(Clone, Debug)]
struct Settings<K> {
    config: Config,
    rules_by: Option<RulesBy<K>>,
    capacity: usize,
    when_full: WhenFull,
    max_shut_out: Option<usize>,
}

impl<K: Hash + Eq> Registry<K> {
    /// Creates a registry of 4,096 slots, with the clock of `std` and a hasher that is safe for keys from outside.
    pub fn new(config: Config) -> Result<Self, RegistryError> {
        Self::builder(config).build()
    }

    /// Builds a registry with another capacity, clock, memory, observer or hasher: pass them to the
    /// [`RegistryBuilder`].
    pub fn builder(config: Config) -> RegistryBuilder<K> {
        RegistryBuilder::new(config)
    }
}

impl<K> RegistryBuilder<K> {
    pub(super) fn new(config: Config) -> Self {
        let settings = Settings {
            config,
            rules_by: None,
            capacity: 4_096,
            when_full: WhenFull::Pass,
            max_shut_out: None,
        };
        settings.with(StdClock, || (), (), RandomState::new())
    }
}

impl<K> Settings<K> {
    fn with<C, T, O, S>(
        self,
        clock: C,
        tally: T,
        observer: O,
        hasher: S,
    ) -> RegistryBuilder<K, C, T, O, S> {
        RegistryBuilder {
            settings: self,
            clock,
            tally,
            observer,
            hasher,
        }
    }
}

impl<K, C, T, O, S> RegistryBuilder<K, C, T, O, S> {
    /// How many keys it remembers: 4,096 unless set, at least 1 and at most 16 million. Each takes about 140 bytes, 300
    /// more once it has opened, plus the data behind the key and its memory of calls.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.settings.capacity = keys;
        self
    }

    /// What happens to keys for which there is no slot.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.settings.when_full = when_full;
        self
    }

    /// Other rules for classes of keys: `class_of` returns the class of a key, and `rules` lists the rules of at most
    /// 255 classes. Keys whose class is not listed follow the common rules, which are those of the builder.
    ///
    /// A class is a value of any type that can be compared: an enum, a `bool`, a number. A key gets its class with its
    /// slot and keeps it as long as it has that slot; unlike [rules of its own](Registry::set_config_of), a class does
    /// not hold the slot. [`set_config_of_class`](Registry::set_config_of_class) replaces the rules of a class at run
    /// time. All keys of a registry use the same kind of memory of calls: rules with a failure ratio need a
    /// [`tally`](Self::tally), including those of a class.
    ///
    /// `class_of` is called, without a lock, for each call of a key that has no slot, and when a key gets one, so keep
    /// it brief. It must return the same class for the same key and must not call the registry. If it panics, the panic
    /// reaches the call that ran it, whose report is lost; nothing else changes.
    pub fn rules_by<Q, F>(
        mut self,
        rules: impl IntoIterator<Item = (Q, Config)>,
        class_of: F,
    ) -> Self
    where
        Q: PartialEq + Send + Sync + 'static,
        F: Fn(&K) -> Q + Send + Sync + 'static,
    {
        self.settings.rules_by = Some(RulesBy::new(rules, class_of));
        self
    }

    /// Limits how many keys are shut out at a time (at least 1): for hosts that share a load, where too many must not
    /// be removed at once. There is no limit unless set.
    ///
    /// While breakers shut out `n` keys and `n` is greater than `keys`, each rejection is enforced only with a
    /// probability of `keys` / `n`. So as many calls are rejected as if `keys` keys were shut out, and each key still
    /// gets some calls. The other calls pass as in [shadow mode](crate::Enforcement): observers are notified through
    /// [`would_reject`](super::KeyedObserver::would_reject), and their outcomes are not reported, so a key is closed by
    /// probes as always. With an enforcement of less than 100 %, the smaller share applies.
    ///
    /// ```
    /// use atomic_breaker_server::{Config, Guard, Registry, RegistryError};
    ///
    /// let hosts = Registry::<u32>::builder(Config::new()).max_shut_out(5).build()?;
    /// for host in 0..10 {
    ///     hosts.command(&host, |breaker| breaker.trip())?;
    /// }
    /// let passed = (0..10_000).filter(|call| hosts.of(call % 10).acquire().is_ok()).count();
    /// assert!((4_500..5_500).contains(&passed));
    /// # Ok::<(), RegistryError>(())
    /// ```
    ///
    /// - **A key is shut out** if it is open, or half-open and all probes are under way. One that [returns
    ///   gradually](Config::gradual_return) counts in proportion to the share of its calls that it rejects; one whose
    ///   next call would be a probe does not count.
    /// - **Keys that are forced open** do not count, and all their calls are rejected.
    /// - **Keys without a slot** do not count; if [`WhenFull`] rejects their calls, the same share of those rejections
    ///   is enforced.
    /// - **It is a number, not a share**, because healthy keys have no slot and are not known. For example, use half
    ///   the number of hosts that you usually have.
    /// - **Keys are counted on rejections**, every 100 ms at most, by one caller that looks at 1,024 slots: if there
    ///   are more slots, they are counted block by block within a second, or within `capacity` / 1,024 milliseconds if
    ///   that is longer. Until then more keys may be shut out. Calls that are not rejected pay nothing.
    #[doc(alias = "max_ejection_percent")]
    #[doc(alias = "panic_threshold")]
    pub fn max_shut_out(mut self, keys: usize) -> Self {
        self.settings.max_shut_out = Some(keys);
        self
    }

    /// Sets the source of the time.
    pub fn clock<D: Clock>(self, clock: D) -> RegistryBuilder<K, D, T, O, S> {
        self.settings
            .with(clock, self.tally, self.observer, self.hasher)
    }

    /// Sets a function that creates a memory of calls, which runs once for each slot: for rules such as a failure ratio.
    ///
    /// ```
    /// use atomic_breaker_server::{Config, LastCalls, ManualClock, Ratio, Registry};
    /// use atomic_breaker_server::SlidingRatio;
    /// use std::time::Duration;
    ///
    /// static CLOCK: ManualClock = ManualClock::new();
    ///
    /// let half = Ratio::percent(50);
    /// let hosts = Registry::<u32>::builder(Config::new().failure_ratio(half.of_last(20)))
    ///     .tally(LastCalls::new)
    ///     .build()?;
    /// // A memory with a clock takes that of the registry.
    /// let lately = half.within(Duration::from_secs(10));
    /// let tenants = Registry::<u32>::builder(Config::new().failure_ratio(lately))
    ///     .clock(&CLOCK)
    ///     .tally(|| SlidingRatio::<_, 1>::by(&CLOCK))
    ///     .build()?;
    /// # let _ = (hosts, tenants);
    /// # Ok::<(), atomic_breaker_server::RegistryError>(())
    /// ```
    pub fn tally<U: Tally, F: FnMut() -> U>(self, tally: F) -> RegistryBuilder<K, C, F, O, S> {
        self.settings
            .with(self.clock, tally, self.observer, self.hasher)
    }

    /// Sets the observer that is notified of what happens: a [`KeyedObserver`](super::KeyedObserver).
    pub fn observer<P>(self, observer: P) -> RegistryBuilder<K, C, T, P, S> {
        self.settings
            .with(self.clock, self.tally, observer, self.hasher)
    }

    /// Sets a closure that is notified of transitions.
    pub fn on_transition<F: Fn(&K, &Transition)>(
        self,
        notify: F,
    ) -> RegistryBuilder<K, C, T, OnKeyTransition<F>, S> {
        self.observer(OnKeyTransition(notify))
    }

    /// Sets how keys are hashed: [`RandomState`] unless set, which prevents an attacker who can choose keys from
    /// causing collisions.
    pub fn hasher<H: BuildHasher>(self, hasher: H) -> RegistryBuilder<K, C, T, O, H> {
        self.settings
            .with(self.clock, self.tally, self.observer, hasher)
    }

    /// Builds the registry.
    pub fn build<U>(self) -> Result<Registry<K, C, U, O, S>, RegistryError>
    where
        K: Hash + Eq,
        C: Clock,
        T: FnMut() -> U,
        U: Tally,
        S: BuildHasher,
    {
        let (settings, mut tally) = (self.settings, self.tally);
        check_capacity(settings.capacity)?;
        let cap = settings
            .max_shut_out
            .map(|most| Cap::try_new(most, settings.capacity))
            .transpose()?;
        let slots: Box<[_]> = (0..settings.capacity).map(|_| Slot::new(tally())).collect();
        let tally = &slots[0].tally;
        let table = RuleTable::new(Ruleset::try_new(settings.config, &self.clock, tally)?);
        let classes = settings
            .rules_by
            .map(|rules_by| rules_by.build(&table, &self.clock, tally))
            .transpose()?;
        Ok(Registry {
            slots,
            map: papaya::HashMap::builder()
                .capacity(settings.capacity)
                .hasher(AsHashed::default())
                .build(),
            hasher: self.hasher,
            places: Mutex::default(),
            full_until_ms: AtomicU32::new(0),
            when_full: settings.when_full,
            table,
            rules: AtomicU16::new(0),
            classes,
            clock: self.clock,
            observer: self.observer,
            enforcement: Enforcement::new(),
            cap,
            newest: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            unguarded: AtomicU64::new(0),
        })
    }
}
