// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of the slot for the next key.

use super::walk::{Stays, Walk};

/// The most slots that one search looks at, because it holds the lock.
pub(super) const MOST_LOOKS: usize = 1_024;

/// The slots that are free, and the place where the search for a victim continues.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The number of slots that have been given away at least once; they are the first ones.
    pub(super) fresh: usize,
    /// A slot that was taken from its key and has no new key yet.
    pub(super) spare: Option<usize>,
    pub(super) walk: Walk,
    pub(super) stays: Stays,
}
