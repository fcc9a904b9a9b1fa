//! A single breaker.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::{AtomicU64, Word};
use atomic_breaker_std::{BootClock, Breaker, Config};

use crate::layout::SINGLE;
use crate::memory::Memory;
use crate::{MappedBuilder, MappedError, MemoryOrigin};

/// A breaker whose word is in memory that processes share.
pub type MappedBreaker<C = BootClock, O = ()> = Breaker<C, MappedWord, (), O>;

/// The word of a breaker in memory that processes share. Clones share the word.
#[derive(Clone, Debug)]
pub struct MappedWord {
    memory: Arc<Memory>,
    origin: MemoryOrigin,
}

impl MappedWord {
    pub(crate) fn new(memory: Memory, origin: MemoryOrigin) -> Self {
        let memory = Arc::new(memory);
        Self { memory, origin }
    }

    /// Where the file came from.
    pub const fn origin(&self) -> MemoryOrigin {
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
