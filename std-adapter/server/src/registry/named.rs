// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys with their hashes, so that `Eq` is the only code of a key that the map runs.

use std::hash::{BuildHasher, Hash, Hasher};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use papaya::Equivalent;

/// A key as the map keeps it. A map that grows rehashes its keys, on any thread, and stops halfway if that panics; and
/// it drops a key once no thread reads it any more, on any thread. So the hash is kept, and a panic in the drop is
/// caught here.
#[derive(Debug)]
pub(super) struct Named<K> {
    hash: u64,
    /// `Some` until it is dropped.
    key: Option<K>,
}

impl<K> Named<K> {
    pub(super) const fn new(hash: u64, key: K) -> Self {
        Self {
            hash,
            key: Some(key),
        }
    }
}

impl<K> Hash for Named<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: PartialEq> PartialEq for Named<K> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }
}

impl<K: Eq> Eq for Named<K> {}

impl<K> Drop for Named<K> {
    fn drop(&mut self) {
        if mem::needs_drop::<K>() {
            let key = self.key.take();
            // The panic was reported by its hook; there is no caller to pass it to.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(key)));
        }
    }
}

/// A key that is being looked up.
pub(super) struct Wanted<'a, K> {
    pub(super) hash: u64,
    pub(super) key: &'a K,
}

impl<K> Hash for Wanted<'_, K> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: Eq> Equivalent<Named<K>> for Wanted<'_, K> {
    #[inline]
    fn equivalent(&self, named: &Named<K>) -> bool {
        self.hash == named.hash && named.key.as_ref() == Some(self.key)
    }
}

/// Uses the hash of a key as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AsHashed(u64);

impl BuildHasher for AsHashed {
    type Hasher = Self;

    #[inline]
    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for AsHashed {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a hash is written as one number");
    }
}
