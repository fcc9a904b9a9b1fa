//! How a slab is made.

use std::path::Path;

use atomic_breaker::{Config, Rules};

use super::error::Kind;
use super::layout::{MAX_CAPACITY, MAX_KEY_BYTES, Shape};
use super::open::{Setup, for_forks as memory_for_forks};
use super::{MachineClock, MappedError, MappedSlab, Origin};
use crate::BootClock;

/// A [`MappedSlab`] in the making.
///
/// Its file, or its memory, takes `capacity × 2` slots of 128 bytes, or more for longer keys: 256 KiB by default.
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before `open`"]
pub struct MappedSlabBuilder<C = BootClock> {
    setup: Setup<C>,
    shape: Shape,
}

impl MappedSlabBuilder {
    pub(super) const fn new(config: Config) -> Self {
        Self {
            setup: Setup::new(config),
            shape: Shape {
                capacity: 1_024,
                key_bytes: 98,
            },
        }
    }
}

impl<C> MappedSlabBuilder<C> {
    /// Another clock: the same in all processes.
    pub fn clock<D: MachineClock>(self, clock: D) -> MappedSlabBuilder<D> {
        MappedSlabBuilder {
            setup: self.setup.clock(clock),
            shape: self.shape,
        }
    }

    /// How many keys fit: at least 1, at most 1,048,576; 1,024 by default. The same in all processes.
    pub const fn capacity(mut self, keys: u32) -> Self {
        self.shape.capacity = keys;
        self
    }

    /// How long a key may be, in bytes: at least 1, at most 1,000; 98 by default. The same in all processes.
    pub const fn max_key_bytes(mut self, bytes: u32) -> Self {
        self.shape.key_bytes = bytes;
        self
    }

    /// Replaces a file that was made by other rules, if no process uses it: for a service that is stopped, gets
    /// other rules and is started again. Without this, it is an error, as it is while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.setup.replace_unused = true;
        self
    }
}

impl<C: MachineClock> MappedSlabBuilder<C> {
    /// The slab in the file at `path`, which is made if there is none, for its owner alone.
    ///
    /// Waits for other processes that do the same at the same moment: as a rule microseconds, at most 2 s.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedSlab<C>, MappedError> {
        let path = path.as_ref();
        let rules = self.checked();
        let rules = rules.map_err(|kind| MappedError::new(Some(path), kind))?;
        let (memory, origin) = self.setup.in_file(path, self.shape)?;
        Ok(MappedSlab::new(
            memory,
            self.shape,
            rules,
            self.setup.clock,
            origin,
        ))
    }

    /// A slab that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: a setting does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedSlab<C>, MappedError> {
        let made = (|| Ok((self.checked()?, memory_for_forks(self.shape)?)))();
        let (rules, memory) = made.map_err(|kind: Kind| MappedError::new(None, kind))?;
        Ok(MappedSlab::new(
            memory,
            self.shape,
            rules,
            self.setup.clock,
            Origin::Created,
        ))
    }

    fn checked(&self) -> Result<Rules<u64>, Kind> {
        let Shape {
            capacity,
            key_bytes,
        } = self.shape;
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Kind::Capacity(capacity));
        }
        if !(1..=MAX_KEY_BYTES).contains(&key_bytes) {
            return Err(Kind::KeyBytes(key_bytes));
        }
        self.setup.rules()
    }
}
