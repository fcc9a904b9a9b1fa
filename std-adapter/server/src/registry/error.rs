// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reason why the settings of a registry are invalid, or why a key has no slot in it.

use std::error::Error;
use std::fmt;

use atomic_breaker::ConfigError;

const MAX_CAPACITY: usize = 1 << 24;

/// Checks whether there can be a registry of that many keys.
pub const fn check_capacity(keys: usize) -> Result<(), RegistryError> {
    match keys {
        0 => Err(RegistryError::NoCapacity),
        1..=MAX_CAPACITY => Ok(()),
        _ => Err(RegistryError::CapacityTooLarge),
    }
}

/// The reason why there is no registry, or no slot in it for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryError {
    /// The rules do not fit.
    Config(ConfigError),
    /// The rules of a class do not fit.
    ClassConfig {
        /// Their position in the list of [`rules_by`](super::RegistryBuilder::rules_by), counted
        /// from 0.
        index: usize,
        /// The setting that does not fit.
        error: ConfigError,
    },
    /// A class that is listed twice in [`rules_by`](super::RegistryBuilder::rules_by).
    RepeatedClass {
        /// The position of its second occurrence, counted from 0.
        index: usize,
    },
    /// More than 255 classes.
    TooManyClasses,
    /// A class that was not listed in [`rules_by`](super::RegistryBuilder::rules_by).
    NoSuchClass,
    /// A maximum of 0 keys that may be shut out.
    NoneShutOut,
    /// A maximum of 0 %, or of more than 100 %, of the keys that may be shut out.
    ShutOutPercent,
    /// A capacity of 0.
    NoCapacity,
    /// A capacity of more than 16 million.
    CapacityTooLarge,
    /// No slot is available for this key.
    Full,
    /// More than 65,536 different rules were set since the registry was created.
    TooManyRules,
}

impl From<ConfigError> for RegistryError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::ClassConfig { index, error } => {
                write!(f, "the rules at index {index} of the list given to `rules_by`: {error}")
            }
            Self::RepeatedClass { index } => write!(
                f,
                "the class at index {index} of the list given to `rules_by` was listed before: list each class once",
            ),
            Self::TooManyClasses => f.write_str(
                "a registry takes rules of at most 255 classes: put those with the same rules into one class",
            ),
            Self::NoSuchClass => f.write_str(
                "no rules were listed for this class: pass one of the values given to `rules_by`, of the same type",
            ),
            Self::NoneShutOut => f.write_str(
                "with at most 0 keys shut out no call would be rejected: set `max_shut_out` to at least 1, or leave it \
                 out; for no rejections at all set `enforcement` to 0 %",
            ),
            Self::ShutOutPercent => f.write_str(
                "the share of the keys that may be shut out is 1 to 100 percent: change `max_shut_out_percent`, or leave \
                 it out; for no rejections at all set `enforcement` to 0 %",
            ),
            Self::NoCapacity => {
                f.write_str("a registry with a capacity of 0 remembers no key: set at least 1")
            }
            Self::CapacityTooLarge => f.write_str(
                "a registry holds at most 16777216 keys: lower the capacity, or use several registries",
            ),
            Self::Full => f.write_str(
                "all slots of the registry are taken by keys that are open, held or pinned: raise its capacity",
            ),
            Self::TooManyRules => f.write_str(
                "a registry takes at most 65536 different rules in its life: set rules that were set before",
            ),
        }
    }
}

impl Error for RegistryError {}
