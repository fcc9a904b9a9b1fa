// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of a fleet.

use std::error::Error;
use std::fmt;

/// The fault of a setting or a name, or the reason why an engine did not answer, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetError(String);

impl FleetError {
    /// An error in the words of an engine's client, for example.
    pub fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for FleetError {}
