//! What is wrong with the settings of an admin.

use std::error::Error;
use std::fmt;

/// Why there is no admin, or no timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdminError {
    /// Two registries, breakers, fleets or [`Steps`](super::Admin::steps) have this name.
    NameTaken(String),
    /// A name is empty or longer than 128 bytes.
    BadName(String),
    /// A [`Recorder`](super::Recorder) has this name, but nothing is shown under it.
    NotShown(String),
    /// This is not the name of a host, with or without a port.
    BadHost(String),
    /// This is not an origin.
    BadOrigin(String),
    /// A number is out of range: what it is, the least, the most.
    OutOfRange(&'static str, usize, usize),
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => {
                write!(
                    f,
                    "the name {name:?} is given twice: give each registry and breaker its own, and so each fleet \
                     and all steps"
                )
            }
            Self::BadName(name) => {
                write!(
                    f,
                    "the name {name:?} does not fit: set one of 1 to 128 bytes"
                )
            }
            Self::NotShown(name) => write!(
                f,
                "the timeline records {name:?}, which is not shown: give `Timeline::of` and \
                 `Admin::registry`, `breaker` or `resource` the same name"
            ),
            Self::BadHost(host) => write!(
                f,
                "{host:?} is no host: set a name or an address, with or without a port, as in \
                 \"admin.example.com\", \"10.0.0.7:8080\" or \"[::1]\""
            ),
            Self::BadOrigin(origin) => write!(
                f,
                "{origin:?} is no origin: set scheme and host as the browser shows them, as in \
                 \"https://admin.example.com\""
            ),
            Self::OutOfRange(what, least, most) => {
                write!(f, "{what} must be from {least} to {most}")
            }
        }
    }
}

impl Error for AdminError {}
