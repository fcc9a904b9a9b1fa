//! When a request is made again.

use atomic_breaker::AnyError;

use super::{AnyBudget, ByMethod, NoHint, RetryBudget, RetryConfig};
#[cfg(feature = "http")]
use crate::http::HttpClassifier;

/// When a request is made again: for a [`RetryLayer`](super::RetryLayer), which goes directly above a
/// [`BreakerLayer`](crate::tower::BreakerLayer), so that the breaker is asked for each try. The types see to
/// that: the error must be a [`ServiceError`](crate::ServiceError).
///
/// | the result is | |
/// |---|---|
/// | a success | it is the answer, and deposits a share of a token |
/// | [ignored](crate::Outcome::Ignored) | it is the answer |
/// | a failure | tried again, if the request may be sent twice, a try is left, the pause ends before the deadline, and the budget has a token |
/// | a rejection | waited for, if the breaker says how long, that ends before the deadline, and a wait is left; costs no try and no token, as the request was not made |
///
/// Otherwise the answer is what the last try gave. So a rejection is the answer only to a request that was never made.
/// A response that is not the answer is kept in the pause, and dropped once the next try waits for its own.
/// A request that is dropped in a pause gives its token back. A response that was handed out is never asked for again:
/// a body that breaks off later is the caller's.
///
/// After a pause for which the [server asked](super::RetryHint), as by a `Retry-After`, a rejection is waited for once
/// in any case: the same word has opened the breaker, which adds its jitter, so the retry would come too early.
///
/// What counts as a failure: every error, or what a [classifier](Self::classify) says, best the same as that of
/// the breaker.
///
/// A request costs one reading of tokio's clock, a clone of the policy and, where it may be made again, a clone of the
/// request for each try, so its body must be cloned cheaply, as `Bytes` is. reqwest's requests are not `Clone`: let the stack take
/// `http::Request<Bytes>`, and put `reqwest::HttpClient` below it (feature `reqwest`). A body that is streamed cannot be sent
/// twice and goes around this layer.
///
/// The breaker belongs below; the other way round, where a whole row of tries would be one call of the breaker,
/// it does not compile:
///
/// ```compile_fail,E0599
/// # use atomic_breaker_std::retry::{RetryBudget, RetryConfig, RetryLayer, RetryPolicy};
/// # use atomic_breaker_std::{Breaker, Config, breaker, tower::BreakerLayer};
/// # use tower::{ServiceBuilder, ServiceExt, service_fn};
/// # static SEARCH: Breaker = breaker(Config::new());
/// # static BUDGET: RetryBudget = RetryBudget::new();
/// # async fn search() {
/// let policy = RetryPolicy::new(RetryConfig::new(), &BUDGET, |_| true);
/// let search = ServiceBuilder::new()
///     .layer(BreakerLayer::new(&SEARCH))
///     .layer(RetryLayer::new(policy))
///     .service(service_fn(|_: u32| async { Err::<(), _>(std::io::Error::other("no answer")) }));
/// let _ = search.oneshot(7).await;
/// # }
/// ```
///
/// # Panics
/// A pause needs a tokio runtime with its time enabled; without one, tokio panics.
///
/// ```
/// use atomic_breaker_std::retry::{RetryBudget, RetryConfig, RetryPolicy};
/// use std::time::Duration;
///
/// static BUDGET: RetryBudget = RetryBudget::new();
/// const TWICE: RetryConfig = RetryConfig::new().tries(2).within(Duration::from_secs(3));
///
/// let policy = RetryPolicy::new(TWICE, &BUDGET, |path: &&str| path.starts_with("/search"));
/// # let _ = policy;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy<B = &'static RetryBudget, I = ByMethod, C = AnyError, H = NoHint> {
    pub(super) config: RetryConfig,
    pub(super) budget: B,
    pub(super) idempotent: I,
    pub(super) classify: C,
    pub(super) hint: H,
}

/// A [`RetryPolicy`] for HTTP: [`RetryPolicy::http`].
#[cfg(feature = "http")]
pub type HttpRetryPolicy<B = &'static RetryBudget> =
    RetryPolicy<B, ByMethod, HttpClassifier, HttpClassifier>;

#[cfg(feature = "http")]
impl<B: Clone> HttpRetryPolicy<B> {
    /// A policy for HTTP requests: tried again are those that may be sent twice ([`ByMethod`] says which), after
    /// what [`HttpClassifier`] takes for a failure, and not before a `Retry-After` is over. Give the breaker below
    /// the same classifier; another one goes to [`classify`](RetryPolicy::classify) and
    /// [`hint`](RetryPolicy::hint) as well.
    ///
    /// ```
    /// use atomic_breaker_std::retry::{HttpRetryPolicy, RetryBudget, RetryConfig, RetryPolicy};
    ///
    /// static BUDGET: RetryBudget = RetryBudget::new();
    /// const POLICY: HttpRetryPolicy = RetryPolicy::http(RetryConfig::new(), &BUDGET);
    /// # let _ = POLICY;
    /// ```
    ///
    /// # Panics
    /// As [`new`](RetryPolicy::new).
    pub const fn http(config: RetryConfig, budget: B) -> Self {
        if let Err(error) = config.check() {
            panic!("{}", error.message());
        }
        Self {
            config,
            budget,
            idempotent: ByMethod,
            classify: HttpClassifier::new(),
            hint: HttpClassifier::new(),
        }
    }
}

impl<B, I> RetryPolicy<B, I> {
    /// A policy for requests of any kind.
    ///
    /// `budget` is a reference or an `Arc` of a [`RetryBudget`], or with
    /// [`RetryBudgets::by_key`](super::RetryBudgets::by_key) one for each host or other key. Under load from many threads
    /// take a `static` or leak it: a clone of an `Arc` per request is memory that all of them write. `idempotent` says
    /// which requests [may be sent twice](super::Idempotent); `|_| true` for all of them.
    ///
    /// # Panics
    /// When the numbers make no sense; in a `static` or `const` that is a compile error. Numbers that are not
    /// known to be right are [checked](RetryConfig::check) before.
    pub const fn new<Q>(config: RetryConfig, budget: B, idempotent: I) -> Self
    where
        B: AnyBudget<Q>,
        I: Fn(&Q) -> bool,
    {
        if let Err(error) = config.check() {
            panic!("{}", error.message());
        }
        Self {
            config,
            budget,
            idempotent,
            classify: AnyError,
            hint: NoHint,
        }
    }
}

impl<B, I, C, H> RetryPolicy<B, I, C, H> {
    /// What a result means, by a [classifier](crate::Classify) as the breaker's: only a failure is tried again, and only
    /// a success deposits.
    pub fn classify<K>(self, classify: K) -> RetryPolicy<B, I, K, H> {
        RetryPolicy {
            config: self.config,
            budget: self.budget,
            idempotent: self.idempotent,
            classify,
            hint: self.hint,
        }
    }

    /// How long the server asks to wait, by its response: a closure, or something else that
    /// [knows](super::RetryHint).
    pub fn hint<N>(self, hint: N) -> RetryPolicy<B, I, C, N> {
        RetryPolicy {
            config: self.config,
            budget: self.budget,
            idempotent: self.idempotent,
            classify: self.classify,
            hint,
        }
    }

    /// The numbers.
    pub const fn config(&self) -> &RetryConfig {
        &self.config
    }
}
