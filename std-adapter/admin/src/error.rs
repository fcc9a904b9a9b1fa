// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with the settings of an admin.

use std::error::Error;
use std::fmt;

/// Why there is no admin, or no timeline; the text says how to fix it.
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
