//! The functions that open a file.

use std::path::Path;

use atomic_breaker::{Config, Observer};

use super::fault::Fault;
use super::header::Expected;
use super::machine::{Machine, UNKNOWN};
use super::{digest, take_up};
use crate::mapped::layout::Shape;
use crate::mapped::memory::Memory;
use crate::mapped::setup::Setup;
use crate::mapped::{
    MachineClock, MappedBreaker, MappedBuilder, MappedError, MappedSlab, MappedSlabBuilder, Origin,
};

/// A breaker in the file at `path`, which is created if there is none: [`MappedBuilder`] with its defaults.
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
pub fn open(path: impl AsRef<Path>, config: Config) -> Result<MappedBreaker, MappedError> {
    MappedBuilder::new(config).open(path)
}

impl<C, O> MappedBuilder<C, O> {
    /// Replaces a file that was made with other rules, if no process uses it: for a service that is stopped, gets other
    /// rules and is started again. Without this, other rules are an error, as they are while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.setup.replace_unused = true;
        self
    }
}

impl<C: MachineClock, O: Observer> MappedBuilder<C, O> {
    /// The breaker in the file at `path`, which is created if there is none, for its owner alone.
    ///
    /// Waits for other processes that do the same at the same moment: usually microseconds, at most 2 s.
    ///
    /// # Errors
    /// [`MappedError`] names the file, and says what to do.
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedBreaker<C, O>, MappedError> {
        let path = path.as_ref();
        let rules = self.setup.rules();
        let rules = rules.map_err(|kind| MappedError::new(Some(path), kind))?;
        let (memory, origin) = in_file(path, Shape::SINGLE, &self.setup)?;
        Ok(self.finish(rules, memory, origin))
    }
}

impl<C> MappedSlabBuilder<C> {
    /// Replaces a file that was made with other rules, if no process uses it: for a service that is stopped, gets other
    /// rules and is started again. Without this, other rules are an error, as they are while the file is in use.
    pub fn replace_unused(mut self) -> Self {
        self.setup.replace_unused = true;
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
    pub fn open(self, path: impl AsRef<Path>) -> Result<MappedSlab<C>, MappedError> {
        let path = path.as_ref();
        let rules = self.checked();
        let rules = rules.map_err(|kind| MappedError::new(Some(path), kind))?;
        let (memory, origin) = in_file(path, self.shape, &self.setup)?;
        Ok(MappedSlab::new(
            memory,
            self.shape,
            rules,
            self.setup.clock,
            origin,
        ))
    }
}

fn in_file<C: MachineClock>(
    path: &Path,
    shape: Shape,
    setup: &Setup<C>,
) -> Result<(Memory, Origin), MappedError> {
    let open = || {
        let machine = Machine::this().map_err(|error| Fault::Io(UNKNOWN, error))?;
        let expected = Expected {
            machine,
            shape,
            clock: C::ID,
            rules: digest::rules(&setup.config),
        };
        take_up(path, &expected, setup.replace_unused)
    };
    open().map_err(|fault| MappedError::new(Some(path), fault))
}
