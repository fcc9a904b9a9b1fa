// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are kept for some of the keys.

use std::hash::{BuildHasher, Hash, RandomState};

use papaya::{HashMap, HashMapRef, LocalGuard};

/// Values of keys of any type, by their hashes, so that the observer needs no type parameter. The seed is random, so an
/// attacker cannot find two keys with the same hash; among the few thousand that are kept it does not happen by chance.
pub(super) struct ByHash<V> {
    seed: RandomState,
    values: HashMap<u64, V>,
}

impl<V> ByHash<V> {
    pub(super) fn new() -> Self {
        Self {
            seed: RandomState::new(),
            values: HashMap::new(),
        }
    }

    pub(super) fn hash(&self, key: &impl Hash) -> u64 {
        self.seed.hash_one(key)
    }

    pub(super) fn pin(&self) -> HashMapRef<'_, u64, V, RandomState, LocalGuard<'_>> {
        self.values.pin()
    }
}
