// SPDX-License-Identifier: MIT OR Apache-2.0
//! A single breaker with the defaults of the builder.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::path::Path;

use atomic_breaker_std::Config;

use crate::builder::MappedBuilder;
use crate::error::MappedError;
use crate::single::MappedBreaker;

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
