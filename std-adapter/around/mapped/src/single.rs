// SPDX-License-Identifier: MIT OR Apache-2.0
//! A single breaker.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::{AtomicU64, Word};
use atomic_breaker_std::{BootClock, Breaker};

use crate::MemoryOrigin;
use crate::layout::SINGLE;
use crate::memory::Memory;

/// A breaker whose word is in memory that processes share.
pub type MappedBreaker<C = BootClock, O = ()> = Breaker<C, MappedWord, (), O>;

/// The word of a breaker in memory that processes share. Clones share the word.
#[derive(Clone, Debug)]
pub struct MappedWord {
    memory: Arc<Memory>,
    origin: MemoryOrigin,
}

impl MappedWord {
    pub(crate) fn new(memory: Memory, origin: MemoryOrigin) -> Self {
        let memory = Arc::new(memory);
        Self { memory, origin }
    }

    /// The origin of the file.
    pub const fn origin(&self) -> MemoryOrigin {
        self.origin
    }

    /// Returns whether the file was removed while it is in use here: processes that come later make another one, so that they
    /// and this one have a breaker each. A file in `/dev/shm` goes when its user logs out, if the user is no system user and
    /// `RemoveIPC` of systemd's `logind.conf` is not off. One system call; `false` without a file.
    ///
    /// ```
    /// # use atomic_breaker_mapped::{Config, MappedError, open};
    /// # let directory = std::env::temp_dir().join(format!("removed-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory).unwrap();
    /// # let path = directory.join("database");
    /// let database = open(&path, Config::new())?;
    /// assert!(!database.word().is_removed());
    /// std::fs::remove_file(&path).unwrap();
    /// assert!(database.word().is_removed());
    /// # std::fs::remove_dir_all(&directory).unwrap();
    /// # Ok::<(), MappedError>(())
    /// ```
    pub fn is_removed(&self) -> bool {
        self.memory.is_removed()
    }
}

/// The word itself, such as for other languages: it stays where it is for as long as a clone of this is there.
impl AsRef<AtomicU64> for MappedWord {
    #[inline]
    fn as_ref(&self) -> &AtomicU64 {
        &self.memory.words()[SINGLE]
    }
}

impl Word for MappedWord {
    type Bits = u64;

    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.as_ref().load(order)
    }

    #[inline]
    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.as_ref()
            .compare_exchange_weak(current, new, success, failure)
    }
}
