//! A single breaker.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker::word::{AtomicU64, Word};
use atomic_breaker::{Breaker, Config, Observer, Rules};

use super::error::Kind;
use super::layout::{SINGLE, Shape};
use super::memory::Memory;
use super::setup::{Setup, for_forks as memory_for_forks};
use super::{MachineClock, MappedError, Origin};
use crate::BootClock;

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

/// Builds a [`MappedBreaker`], with another clock or an observer.
///
/// ```
/// use atomic_breaker_std::mapped::{MappedBuilder, MappedError};
/// use atomic_breaker_std::{Config, OnTransition, Transition};
///
/// let log = OnTransition(|transition: &Transition| eprintln!("database: {transition}"));
/// let database = MappedBuilder::new(Config::new()).observer(log).for_forks()?;
/// database.trip(); // database: closed -> open: by command, for 5s
/// # Ok::<(), MappedError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before `open`"]
pub struct MappedBuilder<C = BootClock, O = ()> {
    pub(super) setup: Setup<C>,
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

    /// Sets the observer of the transitions that *this* process makes.
    pub fn observer<P: Observer>(self, observer: P) -> MappedBuilder<C, P> {
        MappedBuilder {
            setup: self.setup,
            observer,
        }
    }
}

impl<C: MachineClock, O: Observer> MappedBuilder<C, O> {
    /// A breaker that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: the configuration does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedBreaker<C, O>, MappedError> {
        let made = (|| Ok((self.setup.rules()?, memory_for_forks(Shape::SINGLE)?)))();
        let (rules, memory) = made.map_err(|kind: Kind| MappedError::new(None, kind))?;
        Ok(self.finish(rules, memory, Origin::Created))
    }

    pub(super) fn finish(
        self,
        rules: Rules<u64>,
        memory: Memory,
        origin: Origin,
    ) -> MappedBreaker<C, O> {
        let memory = Arc::new(memory);
        let word = MappedWord { memory, origin };
        Breaker::from_parts(word, rules, self.setup.clock, (), self.observer)
    }
}
