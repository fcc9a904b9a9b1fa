// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds a registry.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use atomic_breaker::{Clock, Config, Tally, Transition};

use super::cap::{Cap, Limit};
use super::classes::RulesBy;
use super::error::check_capacity;
use super::named::AsHashed;
use super::ruleset::{RuleTable, Ruleset};
use super::slot::Slot;
use super::{OnKeyTransition, Registry, RegistryError, WhenFull};
use crate::StdClock;
use crate::enforcement::Enforcement;

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
    max_shut_out: Option<Limit>,
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
    /// Sets the number of keys that it remembers: 4,096 unless set, at least 1 and at most 16 million. Each takes about
    /// 140 bytes, 300 more once it has opened, plus the data behind the key and its memory of calls.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.settings.capacity = keys;
        self
    }

    /// Sets the treatment of keys for which there is no slot.
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
    /// If more keys are down, those that went down first are shut out, and **all calls of the others pass**, as in [shadow
    /// mode](crate::Enforcement): observers are notified through [`would_reject`](super::KeyedObserver::would_reject), and
    /// the outcomes are not reported, so each key is closed by probes as always. So a caller that tries one key after the
    /// other finds one that does not reject.
    ///
    /// ```
    /// use atomic_breaker_server::{Config, Guard, Registry, RegistryError};
    ///
    /// let replicas = Registry::<u32>::builder(Config::new()).max_shut_out(1).build()?;
    /// for replica in [1, 2] {
    ///     replicas.command(&replica, |breaker| breaker.trip())?;
    /// }
    /// assert!(replicas.of(1).acquire().is_err());
    /// assert!(replicas.of(2).acquire().is_ok(), "went down last");
    ///
    /// replicas.command(&1, |breaker| breaker.reset())?;
    /// assert!(replicas.of(2).acquire().is_err(), "the only one that is down");
    /// # Ok::<(), RegistryError>(())
    /// ```
    ///
    /// - **A key is down** from when it opens until it is closed; while it [returns
    ///   gradually](Config::gradual_return) it is down as well. A probe that fails does not change the order.
    /// - **A key that is no longer called** does not count once its open time has been over for as long as it lasted, or
    ///   if it is half-open and its next call would be a probe. If it is called again and rejects, it has its place in the
    ///   order again.
    /// - **Keys that are forced open** do not count, and all their calls are rejected.
    /// - **Keys without a slot** do not count; if [`WhenFull`] rejects their calls, they are the last ones.
    /// - **With an enforcement** of less than 100 %, that share of the calls is rejected of the keys that are shut out.
    /// - **It is exact** at each call in a registry with at most 4,096 slots. If more are in use, the keys that are down
    ///   are counted in steps of so many slots, one with each rejected call; until the last step, a key that has just gone
    ///   down is shut out as well, and the next one is not when another has come up.
    /// - **Calls that are not rejected pay nothing.** A rejected call compares two numbers; after a key has gone down or
    ///   come up, the next one reads the numbers of up to 4,096 slots, in some microseconds. Each slot takes 8 bytes more.
    ///
    /// Replaces [`max_shut_out_percent`](Self::max_shut_out_percent).
    #[doc(alias = "max_ejection_percent")]
    #[doc(alias = "panic_threshold")]
    pub fn max_shut_out(mut self, keys: usize) -> Self {
        self.settings.max_shut_out = Some(Limit::Keys(keys));
        self
    }

    /// [`max_shut_out`](Self::max_shut_out) as a share in percent, 1 to 100, of the keys that are called: rounded down, but
    /// at least one key. Half of two replicas, or of three, is one.
    ///
    /// ```
    /// use atomic_breaker_server::{Config, Guard, Registry, RegistryError};
    ///
    /// let pool = Registry::<u32>::builder(Config::new()).max_shut_out_percent(50).build()?;
    /// for host in 0..10 {
    ///     let _ = pool.of(host).call(|| Ok::<_, &str>("called"));
    /// }
    /// for host in 0..10 {
    ///     pool.command(&host, |breaker| breaker.trip())?;
    /// }
    /// assert!((0..5).all(|host| pool.of(host).acquire().is_err()));
    /// assert!((5..10).all(|host| pool.of(host).acquire().is_ok()));
    /// # Ok::<(), RegistryError>(())
    /// ```
    ///
    /// - **Each key takes a slot with its first call**, because the registry has to know how many there are: set the
    ///   [capacity](Self::capacity) to more than there ever are at a time.
    /// - **The keys that are called** are counted while calls are rejected: those of the last minute, or two, so that hosts
    ///   that are gone do not count. With the first rejection after two minutes without one it begins anew: each key counts
    ///   from its next call on, and so fewer are shut out until most have been called. A pool whose hosts are called less
    ///   than once a minute needs a number of keys instead.
    ///
    /// Replaces [`max_shut_out`](Self::max_shut_out).
    #[doc(alias = "max_ejection_percent")]
    #[doc(alias = "panic_threshold")]
    pub fn max_shut_out_percent(mut self, percent: u32) -> Self {
        self.settings.max_shut_out = Some(Limit::Percent(percent));
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
            .map(|limit| Cap::try_new(limit, settings.capacity).map(Box::new))
            .transpose()?;
        let needs_all_keys = cap.as_ref().is_some_and(|cap| cap.needs_all_keys());
        let slots: Box<[_]> = (0..settings.capacity).map(|_| Slot::new(tally())).collect();
        let tally = &slots[0].tally;
        let common = Ruleset::try_new(settings.config, &self.clock, tally, needs_all_keys)?;
        let table = RuleTable::new(common);
        let classes = settings
            .rules_by
            .map(|rules_by| rules_by.build(&table, &self.clock, tally, needs_all_keys))
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
