// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker for each of many keys.

use std::error::Error;
use std::fmt;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::AtomicU64;
use atomic_breaker_std::{BootClock, Breaker, Config, Observer, Rules, Snapshot};

use crate::MemoryOrigin;
use crate::error::HEARS_ITS_OWN;
use crate::layout::{REFUSED, Shape};
use crate::machine_clock::MachineClock;
use crate::memory::Memory;
use crate::slot::Slots;

/// A breaker for each of many keys (hosts, shards, tenants), in memory that processes share.
///
/// ```
/// use atomic_breaker_mapped::{CallError, Config, MappedError, MappedSlab};
///
/// let hosts = MappedSlab::builder(Config::new().consecutive_failures(2)).for_forks()?;
/// // Now fork the workers.
/// let call = |host: &str, answer: Result<u32, &'static str>| match hosts.breaker(host) {
///     Ok(breaker) => breaker.call(|| answer),
///     // No slot is left for this host: unguarded.
///     Err(_) => answer.map_err(CallError::Failed),
/// };
/// for _ in 0..2 {
///     let _ = call("a.example", Err("no answer"));
/// }
/// assert!(call("a.example", Ok(7)).is_err());
/// assert_eq!(call("b.example", Ok(7)), Ok(7));
///
/// for (key, snapshot) in hosts.entries() {
///     println!("{}: {}", String::from_utf8_lossy(&key), snapshot.state());
/// }
/// # Ok::<(), MappedError>(())
/// ```
///
/// # Keys
///
/// A key has up to 98 bytes unless [told otherwise](crate::MappedBuilder::max_key_bytes), and keeps its slot from its
/// first call until the file is removed: no key is forgotten. So set a [capacity](crate::MappedBuilder::capacity) that all
/// keys fit into. Further keys have [no breaker](Self::breaker), and are [counted](Self::refused) over all processes: let
/// their calls pass unguarded, as above, or reject them. Where outsiders choose the keys, they can fill the slab: use a
/// `Registry` of `atomic-breaker-server` in each process, which forgets, or admit only keys that you know.
///
/// A key is looked up without a lock or a write. Its slot depends on random bits in the file, so outsiders cannot
/// choose keys that collide.
pub struct MappedSlab<C = BootClock> {
    pub(crate) memory: Memory,
    pub(crate) shape: Shape,
    pub(crate) rules: Rules<u64>,
    pub(crate) clock: C,
    pub(crate) origin: MemoryOrigin,
}

/// The breaker of a key: borrows what all keys share.
pub type SlotBreaker<'a, C = BootClock, O = ()> =
    Breaker<&'a C, &'a AtomicU64, (), O, &'a Rules<u64>>;

/// The reason why a key has no breaker in a [`MappedSlab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSlot {
    /// All slots are taken by other keys.
    Full {
        /// The number of keys that fit.
        capacity: usize,
    },
    /// The key is too long.
    KeyTooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The number that is allowed.
        max: usize,
    },
    /// The observer [must hear all](Observer::must_hear_all), and each process tells its own only.
    Observer,
}

impl<C: MachineClock> MappedSlab<C> {
    /// The breaker of a key. It gets a slot if it has none.
    ///
    /// # Errors
    /// [`NoSlot`]: the slab is full, or the key is too long; counted in [`refused`](Self::refused).
    ///
    /// ```
    /// use atomic_breaker_mapped::{Config, MappedSlab, NoSlot};
    ///
    /// let hosts = MappedSlab::builder(Config::new()).capacity(1).for_forks().unwrap();
    /// let permit = hosts.breaker("a.example")?;
    /// permit.acquire().unwrap().failure();
    /// assert_eq!(hosts.breaker("b.example").unwrap_err(), NoSlot::Full { capacity: 1 });
    /// assert_eq!(hosts.refused(), 1);
    /// # Ok::<(), NoSlot>(())
    /// ```
    pub fn breaker(&self, key: impl AsRef<[u8]>) -> Result<SlotBreaker<'_, C>, NoSlot> {
        self.observed(key, ())
    }

    /// [`breaker`](Self::breaker) with an observer, which is notified of what this one does.
    ///
    /// # Errors
    /// [`NoSlot`]: the slab is full, or the key is too long; counted in [`refused`](Self::refused). The observer must hear of
    /// what others do, too.
    pub fn observed<O: Observer>(
        &self,
        key: impl AsRef<[u8]>,
        observer: O,
    ) -> Result<SlotBreaker<'_, C, O>, NoSlot> {
        if observer.must_hear_all() {
            return Err(NoSlot::Observer);
        }
        let key = key.as_ref();
        let (bytes, max) = (key.len(), self.shape.key_bytes as usize);
        let word = if bytes > max {
            Err(NoSlot::KeyTooLong { bytes, max })
        } else {
            let capacity = self.capacity();
            let word = self.slots().find(key, true);
            word.ok_or(NoSlot::Full { capacity })
        };
        let word = word.inspect_err(|_| {
            self.memory.words()[REFUSED].fetch_add(1, Ordering::Relaxed);
        })?;
        Ok(self.over(word, observer))
    }

    /// The breaker of a key that already has a slot. Takes no new one.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<SlotBreaker<'_, C>> {
        let key = key.as_ref();
        let fits = key.len() <= self.shape.key_bytes as usize;
        let word = fits.then(|| self.slots().find(key, false))??;
        Some(self.over(word, ()))
    }

    /// All keys that have a slot, in no particular order, with what their breakers show. Each is looked up the way a
    /// call does it, so the result is what calls see, even in a damaged file.
    pub fn entries(&self) -> impl Iterator<Item = (Vec<u8>, Snapshot)> {
        let slots = self.slots().all();
        slots.map(|(key, word)| (key, self.over(word, ()).snapshot()))
    }

    /// The number of keys that fit.
    pub const fn capacity(&self) -> usize {
        self.shape.capacity as usize
    }

    /// The number of keys that have a slot. A process that is killed while taking one may leave it uncounted.
    pub fn keys(&self) -> u64 {
        self.slots().keys()
    }

    /// The number of times that a key got no slot, over all processes.
    pub fn refused(&self) -> u64 {
        self.memory.words()[REFUSED].load(Ordering::Relaxed)
    }

    /// The rules of all its breakers.
    pub const fn config(&self) -> &Config {
        self.rules.config()
    }

    /// The origin of the file.
    pub const fn origin(&self) -> MemoryOrigin {
        self.origin
    }

    /// Returns whether the file was removed while it is in use here: [`MappedWord::is_removed`](crate::MappedWord::is_removed).
    pub fn is_removed(&self) -> bool {
        self.memory.is_removed()
    }

    fn slots(&self) -> Slots<'_> {
        Slots {
            words: self.memory.words(),
            shape: self.shape,
        }
    }

    fn over<'a, O: Observer>(&'a self, word: &'a AtomicU64, observer: O) -> SlotBreaker<'a, C, O> {
        Breaker::from_parts(word, &self.rules, &self.clock, (), observer)
    }
}

impl<C: MachineClock> fmt::Debug for MappedSlab<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedSlab")
            .field("keys", &self.keys())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for NoSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { capacity } => write!(
                f,
                "all {capacity} slots are taken: set a greater `capacity`, in all processes and with a new file"
            ),
            Self::KeyTooLong { bytes, max } => write!(
                f,
                "the key has {bytes} bytes, but at most {max} fit: set a greater `max_key_bytes`, in all processes and with \
                 a new file"
            ),
            Self::Observer => f.write_str(HEARS_ITS_OWN),
        }
    }
}

impl Error for NoSlot {}
