//! Handles that lead to a registry.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use atomic_breaker::{Clock, Tally};

use super::{KeyedObserver, Registry};

/// A handle that always leads to the same [`Registry`]: a reference or an `Arc`.
#[expect(clippy::type_complexity, reason = "all the parts of a registry")]
pub trait AnyRegistry {
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

    /// The registry itself.
    fn as_registry(
        &self,
    ) -> &Registry<Self::Key, Self::Clock, Self::Tally, Self::Observer, Self::Hasher>;
}

impl<K, C, T, O, S> AnyRegistry for Registry<K, C, T, O, S>
where
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

    #[inline]
    fn as_registry(&self) -> &Self {
        self
    }
}

macro_rules! forward_registry {
    ($($pointer:ty),*) => {$(
        impl<R: AnyRegistry> AnyRegistry for $pointer {
            type Key = R::Key;
            type Clock = R::Clock;
            type Tally = R::Tally;
            type Observer = R::Observer;
            type Hasher = R::Hasher;

            #[inline]
            fn as_registry(
                &self,
            ) -> &Registry<Self::Key, Self::Clock, Self::Tally, Self::Observer, Self::Hasher> {
                (**self).as_registry()
            }
        }
    )*};
}

forward_registry!(&R, Arc<R>);
