// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of a caller that none of several keys admits.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::permit::Rejection;

/// The rejection of a call by all the keys that it may go to: the error of [`FirstOf`](super::FirstOf). Its message is that
/// of the [soonest](Self::soonest) rejection, which is also its source, so that [`Rejection::in_chain`] finds it.
///
/// ```
/// use atomic_breaker_server::{Config, Registry};
/// use std::time::Duration;
///
/// let replicas = Registry::new(Config::new())?;
/// replicas.command(&"a.example", |breaker| breaker.trip_for(Duration::from_secs(60)))?;
/// replicas.command(&"b.example", |breaker| breaker.trip_for(Duration::from_secs(5)))?;
///
/// let none = replicas.first_of(["a.example", "b.example"]).acquire().unwrap_err();
/// assert!(none.retry_in() <= Some(Duration::from_secs(5)));
/// assert_eq!(none.rejections().len(), 2);
/// assert!(none.to_string().starts_with("none of 2 keys admits the call: circuit breaker is open, retry in"));
/// # Ok::<(), atomic_breaker_server::RegistryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoneAdmitted<K> {
    rejections: Vec<(K, Rejection)>,
}

impl<K> NoneAdmitted<K> {
    /// The rejections by these keys: for tests of code that handles them.
    pub const fn new(rejections: Vec<(K, Rejection)>) -> Self {
        Self { rejections }
    }

    /// All rejections, in the order in which the keys were asked. Empty if there was no key to ask.
    pub fn rejections(&self) -> &[(K, Rejection)] {
        &self.rejections
    }

    /// The rejection by the key that is worth a retry first: the one with the shortest [`retry_in`](Rejection::retry_in), and
    /// of several the first. `None` if there was no key to ask.
    pub fn soonest(&self) -> Option<&Rejection> {
        let rejections = self.rejections.iter().map(|(_, rejection)| rejection);
        rejections.min_by_key(|rejection| rejection.retry_in().unwrap_or(Duration::MAX))
    }

    /// The time until one of the keys may admit a call: the shortest [`Rejection::retry_in`]. `None` if that is unknown,
    /// because all of them are forced open, or if there was no key to ask.
    pub fn retry_in(&self) -> Option<Duration> {
        self.soonest()?.retry_in()
    }
}

impl<K> fmt::Display for NoneAdmitted<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rejections.len(), self.soonest()) {
            (1, Some(rejection)) => rejection.fmt(f),
            (keys, Some(rejection)) => {
                write!(f, "none of {keys} keys admits the call: {rejection}")
            }
            (_, None) => f.write_str(NO_KEY),
        }
    }
}

const NO_KEY: &str = "there is no key that the call may go to: name at least one";

impl<K: fmt::Debug> Error for NoneAdmitted<K> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let soonest = self.soonest()?;
        Some(soonest)
    }
}

/// The [soonest](NoneAdmitted::soonest) rejection; if there was no key to ask, one [without a
/// key](Rejection::is_without_key).
impl<K> From<NoneAdmitted<K>> for Rejection {
    fn from(none: NoneAdmitted<K>) -> Self {
        let soonest = none.soonest().cloned();
        soonest.unwrap_or_else(|| Self::without_key(NO_KEY))
    }
}
