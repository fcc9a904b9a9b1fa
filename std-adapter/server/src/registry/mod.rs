//! One [`atomic-breaker`](atomic_breaker) circuit breaker per host, shard or tenant: bounded memory, and reads without a
//! lock or a shared write.
//!
//! | module | contents |
//! |---|---|
//! | `builder`, `error` | building a registry, and errors in its configuration |
//! | `rules`, `classes` | the rules of keys, replaced at run time; rules chosen by a function of the key |
//! | `slot`, `turn` | a place for one key, and how its word changes hands |
//! | `whole`, `call` | the registry, and handles that lead to one; calls of a key |
//! | `admission`, `permit`, `report` | admitting a call of a key; its permit; what changes when it ends, including where the key had no slot when it began |
//! | `cap` | when too many keys are shut out |
//! | `insertion`, `walk` | which keys get a slot, and which lose it, or that none is available; the order in which slots are looked at, and which keys stay longer |
//! | `named`, `key_name` | keys with their hashes; keys that can be read back from their text |
//! | `operation` | what an operator sees and does |
//! | `keyed_observer` | observers of a registry; those of a slot's breaker, which notify them with the key and the words |
//! | `waiting` (`tokio`) | waiting for a key, and retrying |
//! | `by_key`, `one_key` | one breaker per key of a request, for layers; that of one key, for a service that belongs to it |
mod admission;
mod builder;
mod by_key;
mod cap;
mod classes;
mod error;
mod insertion;
mod key;
mod key_name;
mod keyed_observer;
mod named;
mod operation;
mod report;
mod rules;
mod slot;
mod turn;
mod walk;
mod whole;

pub use admission::KeyBreaker;
#[doc(no_inline)]
pub use builder::{RegistryBuilder, WhenFull};
pub use by_key::ByKey;
pub use error::{RegistryError, check_capacity};
pub use key::Key;
pub use key_name::KeyName;
pub use keyed_observer::{Keyed, KeyedObserver, OnKeyTransition};
pub use operation::{Entry, RegistryStats};
pub use whole::{AnyRegistry, ObservedRegistry, Registry, RegistryOf};
