// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that single breakers and slabs share: settings, and the source of the memory.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::path::Path;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::AtomicU64;
use atomic_breaker_std::{BootClock, Breaker, Config, Observer, Rules, TripRule};

use crate::MemoryOrigin;
use crate::error::{HEARS_ITS_OWN, MappedError, MappedErrorKind};
#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::file;
use crate::layout::{SECRET, Shape};
use crate::machine_clock::MachineClock;
use crate::memory::Memory;
use crate::single::{MappedBreaker, MappedWord};
use crate::slab::MappedSlab;
use crate::slot::draw_secret;

/// Builds a [`MappedBreaker`], or from [`MappedSlab::builder`] a [`MappedSlab`]: `K` says which.
///
/// ```
/// use atomic_breaker_mapped::{Config, MappedBuilder, MappedError, OnTransition, Transition};
///
/// let log = OnTransition(|transition: &Transition| eprintln!("database: {transition}"));
/// let database = MappedBuilder::new(Config::new()).observer(log).for_forks()?;
/// database.trip(); // database: closed -> open: by command, for 5s
/// # Ok::<(), MappedError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before `open`"]
pub struct MappedBuilder<C = BootClock, K = SingleWord> {
    config: Config,
    clock: C,
    replaces_unused: bool,
    kind: K,
}

/// A single breaker, with an observer.
#[derive(Clone, Copy, Debug)]
pub struct SingleWord<O = ()>(O);

/// A breaker for each of many keys.
#[derive(Clone, Copy, Debug)]
pub struct KeyedWords(Shape);

type Parts = (Rules<u64>, Memory, MemoryOrigin);

impl MappedBuilder {
    /// Builds a single breaker with [`BootClock`], without an observer.
    pub const fn new(config: Config) -> Self {
        Self::of(config, SingleWord(()))
    }
}

impl MappedSlab {
    /// A builder with [`BootClock`], for 1,024 keys of up to 98 bytes.
    pub const fn builder(config: Config) -> MappedBuilder<BootClock, KeyedWords> {
        let shape = Shape {
            capacity: 1_024,
            key_bytes: 98,
        };
        MappedBuilder::of(config, KeyedWords(shape))
    }
}

impl<K> MappedBuilder<BootClock, K> {
    const fn of(config: Config, kind: K) -> Self {
        Self {
            config,
            clock: BootClock,
            replaces_unused: false,
            kind,
        }
    }
}

impl<C, K> MappedBuilder<C, K> {
    /// Uses another clock, the same in all processes.
    pub fn clock<D: MachineClock>(self, clock: D) -> MappedBuilder<D, K> {
        MappedBuilder {
            config: self.config,
            clock,
            replaces_unused: self.replaces_unused,
            kind: self.kind,
        }
    }

    /// Replaces a file that was made with other rules, if no process uses it: for a service that is stopped, gets other
    /// rules and is started again. Without this, other rules are an error, as they are while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.replaces_unused = true;
        self
    }
}

impl<C: MachineClock, K> MappedBuilder<C, K> {
    /// Rules that need memory besides the word are an error, and those on which processes could not agree, as this version
    /// does not know them.
    fn rules(&self) -> Result<Rules<u64>, MappedError> {
        match self.config.trip {
            TripRule::Consecutive { .. }
            | TripRule::Lasting { .. }
            | TripRule::Within { .. }
            | TripRule::TallyOnly => {}
            _ => {
                let text = "the rules trip in a way that this version cannot share: update atomic-breaker-mapped";
                return Err(MappedError::new(MappedErrorKind::Settings, text));
            }
        }
        let rules = Rules::try_new(self.config)?;
        let _ = Breaker::try_from_parts(AtomicU64::new(0), &rules, &self.clock, (), ())?;
        Ok(rules)
    }

    /// Shared with the processes that are forked from now on.
    fn inherited(&self, shape: Shape) -> Result<Parts, MappedError> {
        let rules = self.rules()?;
        let memory = Memory::map(None, shape.words()).map_err(|error| {
            MappedError::io("there is not enough memory, use fewer keys", error)
        })?;
        for (word, random) in memory.words()[SECRET..].iter().zip(draw_secret()) {
            word.store(random, Ordering::Relaxed);
        }
        Ok((rules, memory, MemoryOrigin::Created))
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn in_file(&self, path: &Path, shape: Shape) -> Result<Parts, MappedError> {
        if path.as_os_str().is_empty() {
            let text = "the path is empty: give one, such as /run/shop/database";
            return Err(MappedError::new(MappedErrorKind::Settings, text));
        }
        let open = || {
            let rules = self.rules()?;
            let expected = file::Expected {
                machine: file::Machine::this()?,
                shape,
                clock: C::ID,
                rules: file::digest(&self.config),
            };
            let (memory, origin) = file::open(path, &expected, self.replaces_unused)?;
            Ok((rules, memory, origin))
        };
        open().map_err(|error: MappedError| error.at(path))
    }
}

impl<C, O> MappedBuilder<C, SingleWord<O>> {
    /// Sets the observer of the transitions that *this* process makes. One that [must hear
    /// all](Observer::must_hear_all), such as a seat in a fleet, is an error when it is opened.
    pub fn observer<P: Observer>(self, observer: P) -> MappedBuilder<C, SingleWord<P>> {
        MappedBuilder {
            config: self.config,
            clock: self.clock,
            replaces_unused: self.replaces_unused,
            kind: SingleWord(observer),
        }
    }
}

impl<C: MachineClock, O: Observer> MappedBuilder<C, SingleWord<O>> {
    /// The breaker in the file at `path`, which is created if there is none, for its owner alone.
    ///
    /// Waits for other processes that do the same at the same moment: usually microseconds, at most 2 s.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedBreaker<C, O>, MappedError> {
        let path = path.as_ref();
        self.check_observer().map_err(|error| error.at(path))?;
        let parts = self.in_file(path, Shape::SINGLE)?;
        Ok(self.finish(parts))
    }

    fn check_observer(&self) -> Result<(), MappedError> {
        if self.kind.0.must_hear_all() {
            return Err(MappedError::new(MappedErrorKind::Settings, HEARS_ITS_OWN));
        }
        Ok(())
    }

    /// A breaker that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: the configuration does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedBreaker<C, O>, MappedError> {
        self.check_observer()?;
        let parts = self.inherited(Shape::SINGLE)?;
        Ok(self.finish(parts))
    }

    fn finish(self, (rules, memory, origin): Parts) -> MappedBreaker<C, O> {
        let word = MappedWord::new(memory, origin);
        Breaker::from_parts(word, rules, self.clock, (), self.kind.0)
    }
}

/// The file or the memory of a slab takes `capacity × 2` slots of 128 bytes, or more for longer keys: 256 KiB by default.
impl<C> MappedBuilder<C, KeyedWords> {
    /// Sets the number of keys that fit: at least 1, at most 1,048,576; 1,024 by default. The same in all processes.
    pub const fn capacity(mut self, keys: u32) -> Self {
        self.kind.0.capacity = keys;
        self
    }

    /// Sets the longest key, in bytes: at least 1, at most 1,000; 98 by default. The same in all processes.
    pub const fn max_key_bytes(mut self, bytes: u32) -> Self {
        self.kind.0.key_bytes = bytes;
        self
    }
}

impl<C: MachineClock> MappedBuilder<C, KeyedWords> {
    /// The slab in the file at `path`: like the `open` of one breaker.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedSlab<C>, MappedError> {
        let path = path.as_ref();
        let shape = self.kind.0.check().map_err(|error| error.at(path))?;
        let parts = self.in_file(path, shape)?;
        Ok(self.finish(parts))
    }

    /// A slab that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: a setting does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedSlab<C>, MappedError> {
        let parts = self.inherited(self.kind.0.check()?)?;
        Ok(self.finish(parts))
    }

    fn finish(self, (rules, memory, origin): Parts) -> MappedSlab<C> {
        MappedSlab {
            memory,
            shape: self.kind.0,
            rules,
            clock: self.clock,
            origin,
        }
    }
}
