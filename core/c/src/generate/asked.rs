// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers that `breakers.toml` asks for, checked.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use toml::Table;

/// A breaker that the file asks for.
pub(super) struct RequestedBreaker {
    pub(super) name: String,
    /// The settings as they stand in the file, checked.
    pub(super) settings: Table,
    pub(super) retained: bool,
    pub(super) seed_from: Option<String>,
}

/// The breakers by the binary logarithm of their tick.
pub(super) type Breakers = BTreeMap<u32, Vec<RequestedBreaker>>;
