// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reason why nothing was mapped.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use atomic_breaker_std::ConfigError;

/// The kind of a [`MappedError`]: by this a program decides what to do, such as to try again, or to go on without the
/// file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MappedErrorKind {
    /// A setting does not fit: rules that one word cannot hold, more keys than there may be.
    Settings,
    /// The file was made with other rules, keys, another clock or version, or in another time namespace.
    Disagreement,
    /// Another process has kept the file locked for 2 s. Trying again later may succeed.
    Busy,
    /// Others may reach the file: a link, another owner or mode, a file system that machines share.
    NotTrusted,
    /// Not a file of breakers, or one that was made shorter or longer.
    Foreign,
    /// The system refused: [`source`](Error::source) is its error.
    System,
}

/// The reason why breakers could not be mapped: it names the file, and says what to do.
pub struct MappedError {
    kind: MappedErrorKind,
    path: Option<PathBuf>,
    text: Cow<'static, str>,
    cause: Option<io::Error>,
}

impl MappedError {
    pub(crate) fn new(kind: MappedErrorKind, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            path: None,
            text: text.into(),
            cause: None,
        }
    }

    pub(crate) fn io(text: &'static str, cause: impl Into<io::Error>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(MappedErrorKind::System, text)
        }
    }

    pub(crate) fn at(self, path: &Path) -> Self {
        Self {
            path: Some(path.into()),
            ..self
        }
    }

    /// The kind of the error.
    pub const fn kind(&self) -> MappedErrorKind {
        self.kind
    }

    /// The file; `None` if there is none.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// The reason against an observer that [must hear all](atomic_breaker_std::Observer::must_hear_all).
pub(crate) const HEARS_ITS_OWN: &str = "each process tells its own observers only, and this one must hear of every change, as \
     a seat in a fleet does: observe a breaker that the process has for itself";

impl From<ConfigError> for MappedError {
    fn from(error: ConfigError) -> Self {
        Self::new(MappedErrorKind::Settings, error.to_string())
    }
}

impl fmt::Display for MappedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.text)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
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
        self.cause.as_ref().map(|cause| cause as _)
    }
}
