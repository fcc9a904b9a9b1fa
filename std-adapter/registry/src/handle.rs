//! Handles that lead to a registry.

use std::hash::{BuildHasher, Hash};
use std::ops::Deref;

use atomic_breaker::{Clock, Tally};

use super::{KeyedObserver, Registry};

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
