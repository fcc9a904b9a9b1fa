//! A single breaker.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::{AtomicU64, Word};
use atomic_breaker_std::{BootClock, Breaker, Config, Observer};

use crate::layout::SINGLE;
use crate::memory::Memory;
use crate::setup::{Parts, Setup};
use crate::{MachineClock, MappedError, Origin};

/// A breaker whose word is in memory that processes share.
pub type MappedBreaker<C = BootClock, O = ()> = Breaker<C, MappedWord, (), O>;

/// The word of a breaker in memory that processes share. Clones share the word.
#[derive(Clone, Debug)]
pub struct MappedWord {
    memory: Arc<Memory>,
    origin: Origin,
}

impl MappedWord {
    /// Where the file came from.
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        &self.memory.words()[SINGLE]
    }
}

impl Word for MappedWord {
    type Bits = u64;

    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.word().load(order)
    }

    #[inline]
    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.word()
            .compare_exchange_weak(current, new, success, failure)
    }
}

/// A breaker in the file at `path`, which is created if there is none: [`MappedBuilder`] with its defaults.
///
/// # Errors
/// [`MappedError`] names the file, and says what to do.
///
/// ```
/// use atomic_breaker_mapped::{Config, MappedError, State, open};
///
/// # let directory = std::env::temp_dir().join(format!("mapped-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory).unwrap();
/// # let path = directory.join("database");
/// // In a service: let path = "/run/shop/database";
/// let database = open(&path, Config::new().consecutive_failures(1))?;
/// let _ = database.call(|| Err::<(), _>("no answer"));
///
/// // Another process, or this one once more.
/// let elsewhere = open(&path, Config::new().consecutive_failures(1))?;
/// assert_eq!(elsewhere.state(), State::Open);
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), MappedError>(())
/// ```
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn open(path: impl AsRef<Path>, config: Config) -> Result<MappedBreaker, MappedError> {
    MappedBuilder::new(config).open(path)
}

/// A breaker that this process shares with those that it forks from now on, without a file:
/// [`MappedBuilder`] with its defaults.
///
/// # Errors
/// [`MappedError`]: the configuration does not fit, or there is no memory.
///
/// ```
/// use atomic_breaker_mapped::{Config, MappedError, for_forks};
///
/// let database = for_forks(Config::new())?;
/// // Now fork the workers: they have the same breaker.
/// assert!(database.acquire().is_ok());
/// # Ok::<(), MappedError>(())
/// ```
pub fn for_forks(config: Config) -> Result<MappedBreaker, MappedError> {
    MappedBuilder::new(config).for_forks()
}

/// Builds a [`MappedBreaker`], with another clock or an observer.
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
pub struct MappedBuilder<C = BootClock, O = ()> {
    pub(crate) setup: Setup<C>,
    observer: O,
}

impl MappedBuilder {
    /// Uses [`BootClock`], without an observer.
    pub const fn new(config: Config) -> Self {
        Self {
            setup: Setup::new(config),
            observer: (),
        }
    }
}

impl<C, O> MappedBuilder<C, O> {
    /// Uses another clock, the same in all processes.
    pub fn clock<D: MachineClock>(self, clock: D) -> MappedBuilder<D, O> {
        MappedBuilder {
            setup: self.setup.clock(clock),
            observer: self.observer,
        }
    }

    /// Replaces a file that was made with other rules, if no process uses it: for a service that is stopped, gets other
    /// rules and is started again. Without this, other rules are an error, as they are while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.setup.replace_unused = true;
        self
    }

    /// Sets the observer of the transitions that *this* process makes.
    pub fn observer<P: Observer>(self, observer: P) -> MappedBuilder<C, P> {
        MappedBuilder {
            setup: self.setup,
            observer,
        }
    }
}

impl<C: MachineClock, O: Observer> MappedBuilder<C, O> {
    /// The breaker in the file at `path`, which is created if there is none, for its owner alone.
    ///
    /// Waits for other processes that do the same at the same moment: usually microseconds, at most 2 s.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedBreaker<C, O>, MappedError> {
        let parts = self.setup.in_file(path.as_ref(), None)?;
        Ok(self.finish(parts))
    }

    /// A breaker that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: the configuration does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedBreaker<C, O>, MappedError> {
        let parts = self.setup.for_forks(None)?;
        Ok(self.finish(parts))
    }

    pub(crate) fn finish(self, (rules, memory, origin): Parts) -> MappedBreaker<C, O> {
        let memory = Arc::new(memory);
        let word = MappedWord { memory, origin };
        Breaker::from_parts(word, rules, self.setup.clock, (), self.observer)
    }
}
