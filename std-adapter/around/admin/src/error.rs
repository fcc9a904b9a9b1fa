// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors in the settings of an admin.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;

/// The longest name, in bytes.
pub(super) const MAX_NAME: usize = 128;

/// The reason why there is no admin, or no timeline; the text says how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminError(pub(super) String);

impl AdminError {
    pub(super) fn unless_in_range(what: &str, number: usize, most: usize) -> Result<(), Self> {
        if (1..=most).contains(&number) {
            return Ok(());
        }
        Err(Self(format!("{what} must be from 1 to {most}")))
    }
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for AdminError {}

pub(super) fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), AdminError> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(AdminError(format!(
                "the name {name:?} does not fit: set one of 1 to {MAX_NAME} bytes"
            )));
        }
        if !seen.insert(name) {
            return Err(AdminError(format!(
                "the name {name:?} is given twice: give each registry and breaker its own, and so each fleet and all \
                 steps"
            )));
        }
    }
    Ok(())
}
