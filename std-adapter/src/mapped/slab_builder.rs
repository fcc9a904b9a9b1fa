//! Building a slab.

use atomic_breaker::{Config, Rules};

use super::error::Kind;
use super::layout::{MAX_CAPACITY, MAX_KEY_BYTES, Shape};
use super::setup::{Setup, for_forks as memory_for_forks};
use super::{MachineClock, MappedError, MappedSlab, Origin};
use crate::BootClock;

/// Builds a [`MappedSlab`].
///
/// Its file, or its memory, takes `capacity × 2` slots of 128 bytes, or more for longer keys: 256 KiB by default.
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before `open`"]
pub struct MappedSlabBuilder<C = BootClock> {
    pub(super) setup: Setup<C>,
    pub(super) shape: Shape,
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
    /// Uses another clock, the same in all processes.
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
}

impl<C: MachineClock> MappedSlabBuilder<C> {
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

    pub(super) fn checked(&self) -> Result<Rules<u64>, Kind> {
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
