//! A single breaker.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker::word::{AtomicU64, Word};
use atomic_breaker::{Breaker, Config, Observer, Rules};

use super::error::Kind;
use super::layout::{SINGLE, Shape};
use super::memory::Memory;
use super::open::{Setup, for_forks as memory_for_forks};
use super::{MachineClock, MappedError, Origin};
use crate::BootClock;

/// A breaker whose word lies in memory that processes share.
pub type MappedBreaker<C = BootClock, O = ()> = Breaker<C, MappedWord, (), O>;

/// The word of a breaker in memory that processes share. Clones are the same word.
#[derive(Clone, Debug)]
pub struct MappedWord {
    memory: Arc<Memory>,
    origin: Origin,
}

impl MappedWord {
    /// How the file came to be there.
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

/// A breaker in the file at `path`, which is made if there is none: [`MappedBuilder`] with its defaults.
///
/// # Errors
/// [`MappedError`] names the file, and says what to do.
///
/// ```
/// use atomic_breaker_std::mapped::{self, MappedError};
/// use atomic_breaker_std::{Config, State};
///
/// # let directory = std::env::temp_dir().join(format!("mapped-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory).unwrap();
/// # let path = directory.join("database");
/// // In a service: let path = "/run/shop/database";
/// let database = mapped::open(&path, Config::new().consecutive_failures(1))?;
/// let _ = database.call(|| Err::<(), _>("no answer"));
///
/// // Another process, or this one once more.
/// let elsewhere = mapped::open(&path, Config::new().consecutive_failures(1))?;
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
/// use atomic_breaker_std::{Config, mapped};
///
/// let database = mapped::for_forks(Config::new())?;
/// // Now fork the workers: they have the same breaker.
/// assert!(database.acquire().is_ok());
/// # Ok::<(), mapped::MappedError>(())
/// ```
pub fn for_forks(config: Config) -> Result<MappedBreaker, MappedError> {
    MappedBuilder::new(config).for_forks()
}

/// A [`MappedBreaker`] in the making, with another clock, or an observer.
///
/// ```
/// use atomic_breaker_std::mapped::{MappedBuilder, MappedError};
/// use atomic_breaker_std::{BootClock, Config, OnTransition, Transition};
///
/// let log = OnTransition(|transition: &Transition| eprintln!("database: {transition}"));
/// let database = MappedBuilder::new(Config::new()).observer(log).for_forks()?;
/// database.trip(); // database: closed -> open: by command, for 5s
/// # Ok::<(), MappedError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before `open`"]
pub struct MappedBuilder<C = BootClock, O = ()> {
    setup: Setup<C>,
    observer: O,
}

impl MappedBuilder {
    /// By [`BootClock`], without an observer.
    pub const fn new(config: Config) -> Self {
        Self {
            setup: Setup::new(config),
            observer: (),
        }
    }
}

impl<C, O> MappedBuilder<C, O> {
    /// Another clock: the same in all processes.
    pub fn clock<D: MachineClock>(self, clock: D) -> MappedBuilder<D, O> {
        MappedBuilder {
            setup: self.setup.clock(clock),
            observer: self.observer,
        }
    }

    /// Who is notified of the transitions that *this* process makes.
    pub fn observer<P: Observer>(self, observer: P) -> MappedBuilder<C, P> {
        MappedBuilder {
            setup: self.setup,
            observer,
        }
    }

    /// Replaces a file that was made by other rules, if no process uses it: for a service that is stopped, gets
    /// other rules and is started again. Without this, it is an error, as it is while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.setup.replace_unused = true;
        self
    }
}

impl<C: MachineClock, O: Observer> MappedBuilder<C, O> {
    /// The breaker in the file at `path`, which is made if there is none, for its owner alone.
    ///
    /// Waits for other processes that do the same at the same moment: as a rule microseconds, at most 2 s.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedBreaker<C, O>, MappedError> {
        let path = path.as_ref();
        let rules = self.setup.rules();
        let rules = rules.map_err(|kind| MappedError::new(Some(path), kind))?;
        let (memory, origin) = self.setup.in_file(path, Shape::SINGLE)?;
        Ok(self.finish(rules, memory, origin))
    }

    /// A breaker that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: the configuration does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedBreaker<C, O>, MappedError> {
        let made = (|| Ok((self.setup.rules()?, memory_for_forks(Shape::SINGLE)?)))();
        let (rules, memory) = made.map_err(|kind: Kind| MappedError::new(None, kind))?;
        Ok(self.finish(rules, memory, Origin::Created))
    }

    fn finish(self, rules: Rules<u64>, memory: Memory, origin: Origin) -> MappedBreaker<C, O> {
        let memory = Arc::new(memory);
        let word = MappedWord { memory, origin };
        Breaker::from_parts(word, rules, self.setup.clock, (), self.observer)
    }
}
