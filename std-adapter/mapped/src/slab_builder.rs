//! Building a slab.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::path::Path;

use atomic_breaker_std::{BootClock, Config};

use crate::layout::Shape;
use crate::setup::{Parts, Setup};
use crate::{MachineClock, MappedError, MappedSlab};

/// Builds a [`MappedSlab`].
///
/// Its file, or its memory, takes `capacity × 2` slots of 128 bytes, or more for longer keys: 256 KiB by default.
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before `open`"]
pub struct MappedSlabBuilder<C = BootClock> {
    pub(crate) setup: Setup<C>,
    pub(crate) shape: Shape,
}

impl MappedSlabBuilder {
    pub(crate) const fn new(config: Config) -> Self {
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

    /// Replaces a file that was made with other rules, if no process uses it: for a service that is stopped, gets other
    /// rules and is started again. Without this, other rules are an error, as they are while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.setup.replace_unused = true;
        self
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
    /// The slab in the file at `path`, which is created if there is none, for its owner alone.
    ///
    /// Waits for other processes that do the same at the same moment: usually microseconds, at most 2 s.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedSlab<C>, MappedError> {
        let parts = self.setup.in_file(path.as_ref(), Some(self.shape))?;
        Ok(self.finish(parts))
    }

    /// A slab that this process shares with those that it forks from now on, without a file.
    ///
    /// # Errors
    /// [`MappedError`]: a setting does not fit, or there is no memory.
    pub fn for_forks(self) -> Result<MappedSlab<C>, MappedError> {
        let parts = self.setup.for_forks(Some(self.shape))?;
        Ok(self.finish(parts))
    }

    pub(crate) fn finish(self, (rules, memory, origin): Parts) -> MappedSlab<C> {
        MappedSlab {
            memory,
            shape: self.shape,
            rules,
            clock: self.setup.clock,
            origin,
        }
    }
}
