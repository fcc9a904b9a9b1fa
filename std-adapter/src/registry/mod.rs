//! A breaker per host, shard or tenant: bounded, read without a lock or a shared write.
//!
//! | file | what |
//! |---|---|
//! | `builder` | how a registry is made, and what is wrong with a configuration |
//! | `rules` | the rules of keys, replaced while running |
//! | `slot`, `turn` | a place for one key, and how its word changes hands |
//! | `handle`, `call` | what leads to a registry; calls of a key |
//! | `granted`, `admission`, `permit`, `report` | what admits a call of a key; the right to it; what its end changes |
//! | `full` | when there is no slot to be had |
//! | `insertion` | who gets a slot, and who loses it |
//! | `operation` | what an operator sees and does |
//! | `observer`, `explained` | who is notified, and of which words |
//! | `by_key` | one breaker per key of a request, for layers |

mod admission;
mod builder;
mod by_key;
mod call;
mod explained;
mod full;
mod granted;
mod handle;
mod insertion;
mod observer;
mod operation;
mod permit;
mod report;
mod rules;
mod slot;
mod turn;

pub use builder::{RegistryBuilder, RegistryError, WhenFull};
pub use by_key::ByKey;
pub use handle::AnyRegistry;
pub use observer::{KeyedObserver, OnKeyTransition};
pub use operation::{Entry, RegistryStats};
pub use permit::KeyedPermit;

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use crate::StdClock;
use crate::resource::Enforcement;
use insertion::Places;
use rules::RuleTable;
use slot::Slot;

/// A breaker for each key (a host, a shard, a tenant), in a fixed number of slots.
///
/// ```
/// use atomic_breaker_std::registry::Registry;
/// use atomic_breaker_std::{Config, State};
/// use std::sync::LazyLock;
///
/// static HOSTS: LazyLock<Registry<&'static str>> =
///     LazyLock::new(|| Registry::new(Config::new().consecutive_failures(2)).expect("constant rules"));
///
/// for _ in 0..2 {
///     let _ = HOSTS.call("a.example", || Err::<(), _>("no answer"));
/// }
/// assert_eq!(HOSTS.state(&"a.example"), State::Open);
/// assert_eq!(HOSTS.call("b.example", || Ok::<_, ()>(7)), Ok(7));
/// ```
///
/// # What a key costs
///
/// A key whose calls succeed has no slot: nothing is written, and nobody can fill the registry with keys
/// that work. A key gets a slot with its first failure. (Rules that remember calls, such as a failure ratio,
/// need a slot from the first call on.) A call looks its key up without a lock and without a write to memory
/// that others read.
///
/// # When it is full
///
/// A key that fails takes the slot of one that is closed and was not used lately: of one without counted
/// failures, or else of one that has some; if all were used lately, of any that is closed. Keys that are open,
/// half-open, returning, forced open or disabled, and those with rules of their own, are not forgotten, unless their
/// time has long been over: one that is due and was not called since may go, too, so that hosts which are gone do
/// not hold their slots for ever. Forced open, disabled and with rules of its own it always stays. Reports that come
/// after the eviction change nothing. If no slot can be had, [`WhenFull`] says what becomes of further keys; it is
/// counted in [`stats`](Self::stats).
///
/// So memory is bounded. Who can choose keys that fail can make the registry forget counts of failures below the
/// limit, and open keys that nobody calls; and fill it with open ones for their open time. The default hasher
/// keeps them from choosing collisions. A search for a slot looks at 1,024 at most, then none is looked for until
/// a tenth of a second later.
///
/// A key's own `Hash`, `Eq`, `Clone` and `Drop` must not call the registry.
///
/// # Parameters
///
/// `K` is the key: cheap to clone, such as a number, an `Arc<str>`, or an
/// `Origin` of the feature `http`. `C` is the clock, `T` a memory per slot for rules that need one, `O` is notified of
/// what happens, `S` hashes: [`RandomState`] where keys come from outside, a faster one where they do not.
pub struct Registry<K, C = StdClock, T = (), O = (), S = RandomState> {
    slots: Box<[Slot<K, T>]>,
    /// The slot of a key, and its turn.
    map: papaya::HashMap<K, Place, S>,
    /// Who gets the next slot.
    places: Mutex<Places>,
    /// No slot was to be had lately: until when, by the clock; 0 for never.
    full_until_ms: AtomicU32,
    when_full: WhenFull,
    /// All rules that were ever set, and which of them are those of keys that have none of their own.
    table: RuleTable,
    rules: AtomicU16,
    clock: C,
    observer: O,
    enforcement: Enforcement,
    /// How many keys have got a slot.
    inserted: AtomicU32,
    evicted: AtomicU64,
    unguarded: AtomicU64,
}

/// Where a key is: its slot, and the turn of that slot. In one number, which is read as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(u64);

impl Place {
    /// Of a key that has no slot.
    const NONE: Self = Self::new(u32::MAX, 0);

    const fn new(slot: u32, turn: u32) -> Self {
        Self((turn as u64) << 32 | slot as u64)
    }

    const fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    const fn turn(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl<K: Hash + Eq> Registry<K> {
    /// A registry of 4,096 slots, by the clock of `std`, with a hasher that is safe against keys from outside.
    ///
    /// # Errors
    /// [`RegistryError`] says which setting does not fit, and what to do.
    pub fn new(config: crate::Config) -> Result<Self, RegistryError> {
        Self::builder(config).build()
    }

    /// A registry with other slots, clock, memory, observer or hasher: give them to the [`RegistryBuilder`].
    pub fn builder(config: crate::Config) -> RegistryBuilder<K> {
        RegistryBuilder::new(config)
    }
}

impl<K, C, T, O, S> Registry<K, C, T, O, S> {
    /// The share of rejections that are enforced: shadow mode.
    pub const fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// The observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The number of keys that can be remembered.
    pub fn capacity(&self) -> usize {
        // One more is shared by those who got none.
        self.slots.len() - 1
    }

    /// For ever, so that handles cost nothing: for registries that live as long as the program. A `static` with
    /// a [`LazyLock`](std::sync::LazyLock) does the same.
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }
}

impl<K, C, T, O, S> fmt::Debug for Registry<K, C, T, O, S>
where
    K: Hash + Eq,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("keys", &self.map.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}
