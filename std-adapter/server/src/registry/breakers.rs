// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registry itself, and handles that lead to one.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use crate::enforcement::Enforcement;
use crate::{Clock, StdClock, Tally};

use super::KeyedObserver;
use super::cap::Cap;
use super::classes::Classes;
use super::named::{AsHashed, Named};
use super::places::Places;
use super::ruleset::RuleTable;
use super::slot::Slot;

/// A breaker for each key (a host, a shard, a tenant), in a fixed number of slots.
///
/// ```
/// use atomic_breaker_server::{Config, Guard, Registry, State};
/// use std::sync::LazyLock;
///
/// static HOSTS: LazyLock<Registry<&'static str>> =
///     LazyLock::new(|| Registry::new(Config::new().consecutive_failures(2)).expect("constant rules"));
///
/// for _ in 0..2 {
///     let _ = HOSTS.of("a.example").call(|| Err::<(), _>("no answer"));
/// }
/// assert_eq!(HOSTS.state(&"a.example"), State::Open);
/// assert_eq!(HOSTS.of("b.example").call(|| Ok::<_, &str>(7)), Ok(7));
/// ```
///
/// # What a key costs
///
/// A key whose calls succeed has no slot: nothing is written, and no one can fill the registry with healthy keys. A key
/// gets a slot with its first failure. (Rules that remember calls, such as a failure ratio, need a slot from the first
/// call on.) A call looks its key up without a lock and without a write to memory that others read.
///
/// # When it is full
///
/// A key that fails takes the slot of another key that needs it less, in this order:
///
/// 1. one that is closed with nothing counted against it;
/// 2. one that is closed with failures, starting with the one whose last failure is the longest ago (but see below);
/// 3. one that has tripped and waits for callers: open, and due for as long again as it was open; half-open, and its
///    next call would be a probe (a probe slot is free, or the probes in flight are lost); or at the end of its return.
///    This forgets how often it has tripped in a row, and therefore how far its open time had grown.
///
/// Keys keep their slots if they have been open for less than that, if all their probes are under way, if they are
/// forced open or disabled, or if they have rules of their own. Reports of calls that were under way when the slot was
/// taken change nothing. If no slot is available, [`WhenFull`] says what happens to further keys; such calls are
/// counted in [`stats`](Self::stats).
///
/// # Bounds
///
/// - **Memory** is bounded by the capacity.
/// - **Work.** A search looks at up to 1,024 slots in random order, and compares the first 16 keys that may be evicted.
///   A search that finds none is not repeated for a tenth of a second, or for less if there are more than 10,240 slots,
///   so that all of them are looked at within a second of calls, or within `capacity` / 1,024 milliseconds if that is
///   longer.
/// - **A key that fails is guarded** from the call that its rules prescribe, provided that at least one slot in a
///   hundred may be taken and that, between two of its calls, fewer other keys get a slot than a quarter of the slots
///   that may be taken: it is forgotten only if all the others that it is compared with have failed since. They are
///   random ones, so of 15 others that happens once in a billion times (4¹⁵), and where one slot in a hundred may be
///   taken, which leaves about ten to compare, once in two thousand. If there are more keys than that, whatever they
///   do, it is guarded by chance: one key in 16 keeps its slot for as many further insertions as there are slots, half
///   of those for twice as many, and so on up to 1,024 times. If, between two of its calls, `m` times as many new keys
///   fail as there are slots that may be taken, it takes about 20 `m` further calls on average until the key is guarded,
///   for `m` up to 1,000. If fewer than one slot in a hundred may be taken, one is found within the time given above.
/// - **A key that has recovered** is served again as with any breaker: at the latest when its open time is over.
///
/// The default hasher prevents an attacker who can choose keys from causing collisions.
///
/// # Code of a key
///
/// A key's own `Hash`, `Eq` and `Clone` must not call the registry, and neither must its `Drop`. If one panics, the
/// panic reaches the call that ran it, whose report may be lost; other keys keep their breakers, except that a key that
/// may be evicted may be closed and cleared. A panic in `Drop` within the map is caught there. The function of
/// [`rules_by`](super::RegistryBuilder::rules_by) runs before anything changes, without the lock.
///
/// # Rules
///
/// The common rules apply to all keys. [`rules_by`](super::RegistryBuilder::rules_by) sets others for classes of keys,
/// [`set_config_of`](Self::set_config_of) for a single key; the latter take precedence. All of them can be replaced
/// while calls are under way: the rules at the end of a call decide what it counts, even if rules that remember calls
/// have only just replaced others under which the key had no slot.
///
/// # Hosts that share a load
///
/// If many of them fail at once, the rest may not be able to carry the load that is taken from them:
/// [`max_shut_out`](super::RegistryBuilder::max_shut_out) limits how many keys are shut out at a time.
///
/// # Parameters
///
/// `K` is the key: cheap to clone, such as a number, an `Arc<str>`, or an `Origin` of `atomic-breaker-http`. `C` is the
/// clock, `T` a memory per slot for rules that need one, `O` the observer that is notified of what happens, `S` the
/// hasher: [`RandomState`] if keys come from outside, a faster one if they do not.
pub struct Registry<K, C = StdClock, T = (), O = (), S = RandomState> {
    pub(super) slots: Box<[Slot<K, T>]>,
    /// The slot of a key, and its turn.
    pub(super) map: papaya::HashMap<Named<K>, Place, AsHashed>,
    pub(super) hasher: S,
    /// Decides which key gets the next slot.
    pub(super) places: Mutex<Places>,
    /// The time until which no slot is looked for, because none was available recently: a clock reading, or 0 for
    /// never.
    pub(super) full_until_ms: AtomicU32,
    pub(super) when_full: WhenFull,
    /// All rules that were ever set, which of them are the common ones, and which belong to classes.
    pub(super) table: RuleTable,
    pub(super) rules: AtomicU16,
    pub(super) classes: Option<Classes<K>>,
    pub(super) clock: C,
    pub(super) observer: O,
    pub(super) enforcement: Enforcement,
    pub(super) cap: Option<Box<Cap>>,
    /// Numbers the keys that get a slot, and the replacements of rules, in their order: the number of the last one.
    pub(super) newest: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) unguarded: AtomicU64,
}

/// A [`Registry`] with an observer, for a field or a `static`.
pub type ObservedRegistry<K, O> = Registry<K, StdClock, (), O>;

/// The place of a key: its slot, and the turn of that slot, in one number, so that both are always read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u64);

impl Place {
    /// The place of a key that has no slot.
    pub(super) const NONE: Self = Self::new(u32::MAX, 0);

    pub(super) const fn new(slot: u32, turn: u32) -> Self {
        Self((turn as u64) << 32 | slot as u64)
    }

    pub(super) const fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    pub(super) const fn turn(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The treatment of a key that fails when no slot is available, because all keys that have one are open or pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// Its calls pass, and their failures do not count.
    #[default]
    Pass,
    /// Calls of keys without a slot are rejected, until there is room again.
    Reject,
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
        self.slots.len()
    }

    /// Leaks the registry so that handles cost nothing: for registries that live as long as the program. A `static`
    /// with a [`LazyLock`](std::sync::LazyLock) does the same.
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

/// A handle that always leads to the same [`Registry`]: a reference, an `Arc`, or a type of your own that dereferences to
/// one.
pub trait AnyRegistry: Deref<Target = RegistryOf<Self>> {
    /// Its keys.
    type Key: Hash + Eq + Clone;
    /// Its clock.
    type Clock: Clock;
    /// The memory of each slot.
    type Tally: Tally;
    /// Its observer.
    type Observer: KeyedObserver<Self::Key>;
    /// Its hasher.
    type Hasher: BuildHasher;
}

/// The registry to which a handle leads.
pub type RegistryOf<H> = Registry<
    <H as AnyRegistry>::Key,
    <H as AnyRegistry>::Clock,
    <H as AnyRegistry>::Tally,
    <H as AnyRegistry>::Observer,
    <H as AnyRegistry>::Hasher,
>;

impl<H, K, C, T, O, S> AnyRegistry for H
where
    H: Deref<Target = Registry<K, C, T, O, S>>,
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    type Key = K;
    type Clock = C;
    type Tally = T;
    type Observer = O;
    type Hasher = S;
}
