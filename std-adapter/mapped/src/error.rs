//! Why nothing was mapped.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use atomic_breaker_std::ConfigError;

/// Why breakers could not be mapped: it names the file, and says what to do.
pub struct MappedError {
    path: Option<PathBuf>,
    fault: Fault,
}

impl MappedError {
    pub(crate) fn new(path: Option<&Path>, fault: Fault) -> Self {
        let path = path.map(Into::into);
        Self { path, fault }
    }

    /// The file; `None` if there is none.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl fmt::Display for MappedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.fault.text)?;
        match &self.fault.cause {
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
        self.fault.cause.as_ref().map(|cause| cause as _)
    }
}

/// What is wrong, and what to do about it.
pub(crate) struct Fault {
    text: Cow<'static, str>,
    cause: Option<io::Error>,
}

impl Fault {
    pub(crate) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        Self { text, cause: None }
    }

    pub(crate) fn io(text: &'static str, cause: impl Into<io::Error>) -> Self {
        let cause = Some(cause.into());
        Self {
            cause,
            ..Self::new(text)
        }
    }
}

impl From<ConfigError> for Fault {
    fn from(error: ConfigError) -> Self {
        Self::new(error.to_string())
    }
}
