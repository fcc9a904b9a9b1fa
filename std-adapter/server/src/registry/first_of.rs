// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first of several keys that admits a call.

use std::cell::OnceCell;
use std::fmt::Display;
use std::hash::{BuildHasher, Hash};

#[cfg(feature = "tokio")]
use atomic_breaker::wait::{TimeLimit, Timed};
use atomic_breaker::{AnyError, CallError, Clock, Tally};

use super::{AnyRegistry, KeyGuard, KeyedObserver, NoneAdmitted, Registry};
use crate::guard::{Grants, GuardPermit};
#[cfg(feature = "tokio")]
use crate::guard::{InTime, limited};
use crate::loss::Begun;
use crate::permit::{AnyPermit, Report, drawn, run_admitted};

/// Several keys of a registry in the order in which they are preferred, such as replicas: the first of them that admits
/// guards a call. Made by [`Registry::first_of`](super::Registry::first_of). `H` leads to the registry: a reference, or an
/// `Arc` if permits are to own it.
///
/// ```
/// use atomic_breaker_server::{Config, Registry};
/// use std::{io, sync::LazyLock};
///
/// static REPLICAS: LazyLock<Registry<&str>> =
///     LazyLock::new(|| Registry::new(Config::new().consecutive_failures(1)).expect("constant rules"));
///
/// fn query(host: &str) -> io::Result<String> {
///     if host == "a.example" { Err(io::ErrorKind::ConnectionRefused.into()) } else { Ok(format!("from {host}")) }
/// }
///
/// let replicas = || REPLICAS.first_of(["a.example", "b.example"]);
/// assert!(replicas().call(query).is_err(), "fails, and opens the first one");
/// assert_eq!(replicas().call(query).unwrap(), "from b.example");
/// ```
///
/// - **Keys are asked one by one**, and none after the first that admits. So a preferred one that was open gets its probe
///   when its open time is over, and is served again if that succeeds; the same holds for the others once those before them
///   reject. A filter such as `hosts.state(host) == State::Closed` would never call one again that has opened.
/// - **The operation runs once**, with the key that admits it. If it fails, the next key is not tried: the call may have had
///   its effect, and its error may say nothing of the host. Where a call may be repeated, give an iterator by reference, and
///   ask again [for the rest](#the-next-one-after-a-failure).
/// - **Each rejection is seen** by the observer of the registry, as that of any call; if only a share of the rejections is
///   [enforced](crate::Enforcement), it is decided once for all the keys.
/// - **[`NoneAdmitted`]** has the rejections of all, and the shortest time to wait.
///
/// # The next one after a failure
///
/// ```
/// # use atomic_breaker_server::{Config, Registry, RegistryError};
/// # let registry = Registry::new(Config::new())?;
/// # let query = |host: &str| if host == "a.example" { Err("no answer") } else { Ok(host.len()) };
/// use atomic_breaker_server::CallError;
///
/// let mut replicas = ["a.example", "b.example"].into_iter();
/// let answer = loop {
///     match registry.first_of(replicas.by_ref()).call(query) {
///         Err(CallError::Failed(_)) if replicas.len() > 0 => {}
///         end => break end,
///     }
/// };
/// assert_eq!(answer, Ok(9));
/// # Ok::<(), RegistryError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "it asks no key before `acquire` or a call"]
pub struct FirstOf<H, I> {
    registry: H,
    candidates: I,
}

type Answer<V, E, H> = Result<V, CallError<E, NoneAdmitted<<H as AnyRegistry>::Key>>>;

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Several keys, in the order in which they are preferred: the first of them that admits guards a call, as in
    /// `hosts.first_of(["a.example", "b.example"]).call(..)`. See [`FirstOf`].
    pub const fn first_of<I: IntoIterator<Item = K>>(&self, candidates: I) -> FirstOf<&Self, I> {
        FirstOf::new(self, candidates)
    }
}

impl<H: AnyRegistry, I> FirstOf<H, I> {
    /// Keys of a registry, in the order in which they are preferred.
    pub const fn new(registry: H, candidates: I) -> Self
    where
        I: IntoIterator<Item = H::Key>,
    {
        Self {
            registry,
            candidates,
        }
    }
}

impl<H: AnyRegistry + Clone, I: IntoIterator<Item = H::Key>> FirstOf<H, I> {
    /// Asks for the right to one call, and returns that of the first key that grants it: [`AnyPermit::key`] says which.
    pub fn acquire(self) -> Result<GuardPermit<KeyGuard<H>>, NoneAdmitted<H::Key>> {
        let begun = Begun::now();
        // Drawn once, or a request would be rejected by all where each rejection is enforced for another share of them.
        let own = OnceCell::new();
        let random = || *own.get_or_init(|| drawn(|| self.registry.clock.random()));
        let mut rejections = Vec::new();
        for key in self.candidates {
            let key = KeyGuard::new(self.registry.clone(), key);
            match key.grant(random) {
                Ok(granted) => return Ok(GuardPermit::new(key, granted, begun)),
                Err(rejection) => rejections.push((key.into_key(), rejection)),
            }
        }
        Err(NoneAdmitted::new(rejections))
    }

    /// Runs an operation with the first key that admits it. `Err` is a failure of weight 1, as in
    /// [`Guard::call`](crate::Guard::call); a panic counts as one.
    pub fn call<V, E: Display>(
        self,
        operation: impl FnOnce(H::Key) -> Result<V, E>,
    ) -> Answer<V, E, H> {
        self.call_with(AnyError, operation)
    }

    /// [`call`](Self::call) with another [`Report`] of the result.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "as all other methods take it"
    )]
    pub fn call_with<V, E, R: Report<V, E>>(
        self,
        report: R,
        operation: impl FnOnce(H::Key) -> Result<V, E>,
    ) -> Answer<R::Output<GuardPermit<KeyGuard<H>>>, E, H> {
        let permit = self.acquire()?;
        let key = permit.key().clone();
        let (permit, result) = permit.judged(|| operation(key));
        let result = report.report(permit, result);
        result.map_err(CallError::Failed)
    }

    /// [`call`](Self::call) for futures, with any runtime or none. The keys are asked when the future is polled first;
    /// dropping it cancels the call.
    pub fn call_async<V, E, F>(
        self,
        operation: impl FnOnce(H::Key) -> F,
    ) -> impl Future<Output = Answer<V, E, H>>
    where
        E: Display,
        F: Future<Output = Result<V, E>>,
    {
        self.call_async_with(AnyError, operation)
    }

    /// [`call_async`](Self::call_async) with another [`Report`] of the result, which may take the permit along, as the body
    /// of a response does.
    pub fn call_async_with<V, E, R, F>(
        self,
        report: R,
        operation: impl FnOnce(H::Key) -> F,
    ) -> impl Future<Output = Answer<R::Output<GuardPermit<KeyGuard<H>>>, E, H>>
    where
        R: Report<V, E>,
        F: Future<Output = Result<V, E>>,
    {
        let admit = || {
            let permit = self.acquire()?;
            let key = permit.key().clone();
            Ok((permit, key))
        };
        run_admitted(admit, report, operation, CallError::Failed)
    }

    /// [`call_async`](Self::call_async) that takes no longer than `limit`, as
    /// [`Guard::call_timeout`](crate::Guard::call_timeout) does.
    #[cfg(feature = "tokio")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
    pub fn call_timeout<V, E, F>(
        self,
        limit: impl Into<TimeLimit>,
        operation: impl FnOnce(H::Key) -> F,
    ) -> impl Future<Output = Answer<V, Timed<E>, H>>
    where
        E: Display,
        F: Future<Output = Result<V, E>>,
    {
        let limit = limit.into();
        self.call_async_with(InTime(limit), move |key| limited(limit, operation(key)))
    }
}
