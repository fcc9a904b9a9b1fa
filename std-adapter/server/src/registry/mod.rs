// SPDX-License-Identifier: MIT OR Apache-2.0
//! One [`atomic-breaker`](atomic_breaker) circuit breaker per host, shard or tenant: bounded memory, and reads without a
//! lock or a shared write.
//!
//! | module | contents |
//! |---|---|
//! | `named`, `key_name` | keys with their hashes; keys that can be read back from their text |
//! | `ruleset`, `classes` | rules, checked and stored once; rules chosen by a function of the key |
//! | `turn`, `slot` | how the word of a slot changes hands; a place for one key |
//! | `walk`, `called`, `places` | the order in which slots are looked at, and which keys stay longer; how many keys are called; where the next key gets a slot |
//! | `cap` | which keys are shut out, if too many are down |
//! | `error`, `keyed_observer` | errors in a configuration; observers of a registry, and those of a slot's breaker, which notify them with the key and the words |
//! | `breakers`, `builder` | the registry, and handles that lead to one; building it |
//! | `rules` | the rules of keys, replaced at run time |
//! | `insertion` | which keys get a slot, and which lose it, or that none is available |
//! | `enforced` | which rejections are enforced |
//! | `admission`, `report` | admitting a call of a key; what changes when it ends, including where the key had no slot when it began |
//! | `operation` | what an operator sees and does |
//! | `prober` (`tokio`) | pings keys that are open |
//! | `key_guard`, `by_key` | one key, whose calls are guarded; one breaker per key of a request, for layers |
//! | `none_admitted`, `first_of` | what a caller learns whom none of several keys admits; the first of them that does |
mod admission;
mod breakers;
mod builder;
mod by_key;
mod called;
mod cap;
mod classes;
mod enforced;
mod error;
mod first_of;
mod insertion;
mod key_guard;
mod key_name;
mod keyed_observer;
mod named;
mod none_admitted;
mod operation;
mod places;
#[cfg(feature = "tokio")]
mod prober;
mod report;
mod rules;
mod ruleset;
mod slot;
mod turn;
mod walk;

pub use admission::KeyBreaker;
pub use breakers::{AnyRegistry, ObservedRegistry, Registry, RegistryOf, WhenFull};
#[doc(no_inline)]
pub use builder::RegistryBuilder;
pub use by_key::ByKey;
pub use error::{RegistryError, check_capacity};
pub use first_of::FirstOf;
pub use key_guard::KeyGuard;
pub use key_name::KeyName;
pub use keyed_observer::{KeyedObserver, ObserverOfKey, OnKeyTransition};
pub use none_admitted::NoneAdmitted;
pub use operation::{Entry, RegistryStats};
