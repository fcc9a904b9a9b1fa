// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the next key gets a slot.

use super::walk::{Stays, Walk};

/// The most slots that one search looks at, because it holds the lock.
pub(super) const MOST_LOOKS: usize = 1_024;

/// Which slots are free, and where the search for a victim goes on.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// How many slots have been given away at least once; they are the first ones.
    pub(super) fresh: usize,
    /// A slot that was taken from its key and has no new key yet.
    pub(super) spare: Option<usize>,
    pub(super) walk: Walk,
    pub(super) stays: Stays,
}
