//! Why nothing was mapped.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use atomic_breaker::ConfigError;

#[cfg(any(target_os = "linux", target_os = "android"))]
use super::file::Fault;
use super::layout::{MAX_CAPACITY, MAX_KEY_BYTES};

/// Why breakers could not be mapped: it names the file, and says what to do.
pub struct MappedError {
    path: Option<PathBuf>,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Config(ConfigError),
    Capacity(u32),
    KeyBytes(u32),
    NoMemory(io::Error),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    File(Fault),
}

impl MappedError {
    pub(super) fn new(path: Option<&Path>, kind: impl Into<Kind>) -> Self {
        Self {
            path: path.map(Into::into),
            kind: kind.into(),
        }
    }

    /// The file; `None` if there is none.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl From<ConfigError> for Kind {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl From<Fault> for Kind {
    fn from(fault: Fault) -> Self {
        Self::File(fault)
    }
}

impl fmt::Display for MappedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            Kind::Config(error) => error.fmt(f),
            Kind::Capacity(keys) => {
                write!(f, "{keys} keys: set at least 1, at most {MAX_CAPACITY}")
            }
            Kind::KeyBytes(bytes) => {
                write!(
                    f,
                    "keys of {bytes} bytes: set at least 1, at most {MAX_KEY_BYTES}"
                )
            }
            Kind::NoMemory(error) => write!(f, "there is no memory, take fewer keys: {error}"),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Kind::File(fault) => fault.fmt(f),
        }
    }
}

/// Shows its message, because `unwrap` and a `main` that returns it print this.
impl fmt::Debug for MappedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedError({self})")
    }
}

impl Error for MappedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::NoMemory(error) => Some(error),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Kind::File(Fault::Io(_, error)) => Some(error),
            _ => None,
        }
    }
}
