//! What is kept for some of the keys.

use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

use papaya::{HashMap, HashMapRef, LocalGuard};

/// Values of keys of any type, by their hashes, so that the observer needs no type parameter. The seed is random, so an
/// attacker cannot find two keys with the same hash; among the few thousand that are kept it does not happen by chance.
pub(super) struct ByHash<V> {
    seed: RandomState,
    values: HashMap<u64, V, AsIs>,
}

type AsIs = BuildHasherDefault<OfHash>;

impl<V> ByHash<V> {
    pub(super) fn new() -> Self {
        Self {
            seed: RandomState::new(),
            values: HashMap::with_hasher(AsIs::default()),
        }
    }

    pub(super) fn hash(&self, key: &impl Hash) -> u64 {
        self.seed.hash_one(key)
    }

    pub(super) fn pin(&self) -> HashMapRef<'_, u64, V, AsIs, LocalGuard<'_>> {
        self.values.pin()
    }
}

/// The hash of a hash: itself.
#[derive(Default)]
pub(super) struct OfHash(u64);

impl Hasher for OfHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a hash is written as one number");
    }
}
