//! When a request is retried, and what the sender and the server say about that.

use std::time::Duration;

use atomic_breaker::AnyError;

use super::{AnyBudget, RetryConfig};

/// When a request is retried: for a [`RetryLayer`](super::RetryLayer), which goes directly above a
/// [`BreakerLayer`](crate::BreakerLayer), so that the breaker is asked for each try. The types enforce that: the
/// error must be a [`ServiceError`](crate::ServiceError).
///
/// | the result is | |
/// |---|---|
/// | a success | returned, and deposits a share of a token |
/// | [ignored](crate::Outcome::Ignored) | returned, unless the server [says when to try again](RetryHint): then like a failure |
/// | a failure | tried again, if the request may be sent twice, a try is left, the pause ends before the deadline, and the budget has a token |
/// | a rejection | waited for, if the breaker says how long, the wait ends before the deadline, and a wait is left; costs no try and no token, as the request was not made |
///
/// Otherwise the result of the last try is returned. So a rejection is returned only for a request that was never made.
/// A response that is not returned is kept during the pause, and dropped once the next try is under way. A request that
/// is dropped in a pause gives its token back. Once a response has been returned, its request is not retried: a body
/// that is truncated later is up to the caller.
///
/// After a pause that the [server asked for](RetryHint), such as by a `Retry-After`, a rejection is waited for
/// once in any case: the same response has opened the breaker, which adds its jitter, so the retry would come too
/// early.
///
/// Every error counts as a failure, or what a [classifier](Self::classify) says, preferably the same one as the
/// breaker's.
///
/// A request costs one reading of tokio's clock, a clone of the policy and, where it may be made again, a clone of the
/// request for each try, so its body must be cheap to clone, as `Bytes` is. reqwest's requests are not `Clone`: let the
/// stack take `http::Request<Bytes>`, and put the `HttpClient` of `atomic-breaker-http` below it. A streamed body cannot
/// be sent twice and must bypass this layer.
///
/// The breaker belongs below; the other way round, where a whole series of tries would be one call of the breaker, does
/// not compile:
///
/// ```compile_fail,E0599
/// # use atomic_breaker_tower::{
/// #     Breaker, BreakerLayer, Config, RetryBudget, RetryConfig, RetryLayer, RetryPolicy, breaker,
/// # };
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
/// A pause needs a tokio runtime with time enabled; without one, tokio panics.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy<B, I, C = AnyError, H = ()> {
    pub(super) config: RetryConfig,
    pub(super) budget: B,
    pub(super) idempotent: I,
    pub(super) classify: C,
    pub(super) hint: H,
}

impl<B, I> RetryPolicy<B, I> {
    /// A policy for requests of any kind.
    ///
    /// `budget` is a reference to or an `Arc` of a [`RetryBudget`](super::RetryBudget), or a
    /// [`BudgetByKey`](super::BudgetByKey) with one for each host or other key. Under load from many
    /// threads use a `static` or leak it: cloning an `Arc` per request makes all of them write to the same memory.
    /// `idempotent` says which requests [may be sent twice](Idempotent); use `|_| true` for all of them.
    ///
    /// # Panics
    /// When the numbers are invalid; in a `static` or `const` that is a compile error. [Check](RetryConfig::check)
    /// numbers that are not known to be valid first.
    pub const fn new<Q>(config: RetryConfig, budget: B, idempotent: I) -> Self
    where
        B: AnyBudget<Q>,
        I: Fn(&Q) -> bool,
    {
        Self::from_parts(config, budget, idempotent, AnyError, ())
    }
}

impl<B, I, C, H> RetryPolicy<B, I, C, H> {
    /// A policy of given parts, for crates that bring their own: what may be sent twice, what results mean, and how
    /// long responses ask to wait.
    ///
    /// # Panics
    /// Like [`new`](RetryPolicy::new).
    pub const fn from_parts(
        config: RetryConfig,
        budget: B,
        idempotent: I,
        classify: C,
        hint: H,
    ) -> Self {
        if let Err(error) = config.check() {
            panic!("{}", error.0);
        }
        Self {
            config,
            budget,
            idempotent,
            classify,
            hint,
        }
    }

    /// What a result means, according to a [classifier](crate::Classify) like the breaker's: only a failure is tried
    /// again, and only a success deposits.
    pub fn classify<K>(self, classify: K) -> RetryPolicy<B, I, K, H> {
        RetryPolicy::from_parts(
            self.config,
            self.budget,
            self.idempotent,
            classify,
            self.hint,
        )
    }

    /// How long the server's response asks to wait: a closure, or any other [`RetryHint`](RetryHint).
    pub fn hint<N>(self, hint: N) -> RetryPolicy<B, I, C, N> {
        RetryPolicy::from_parts(
            self.config,
            self.budget,
            self.idempotent,
            self.classify,
            hint,
        )
    }

    /// The numbers.
    pub const fn config(&self) -> &RetryConfig {
        &self.config
    }
}

/// Whether a request may be sent again after it failed: it may have had its effect nevertheless, with only the
/// response lost.
///
/// `ByMethod` of `atomic-breaker-http` knows HTTP requests; for others use a closure:
/// `|request: &Query| request.only_reads()`. Asked before the first try. A request that the breaker rejected was never
/// sent, and may be sent in any case.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say whether a `{Q}` may be sent twice",
    note = "`RetryPolicy::new` takes a closure that can: `|request: &{Q}| ..`"
)]
pub trait Idempotent<Q: ?Sized> {
    /// Whether this request may be sent again.
    fn is_idempotent(&self, request: &Q) -> bool;

    /// How long the caller gives this request, if that may be less than [`RetryConfig::within`]: no pause begins that
    /// would not end by then.
    fn within(&self, request: &Q) -> Option<Duration> {
        let _ = request;
        None
    }
}

impl<Q: ?Sized, F: Fn(&Q) -> bool> Idempotent<Q> for F {
    fn is_idempotent(&self, request: &Q) -> bool {
        self(request)
    }
}

/// How long the server's response asks the caller to wait: `Retry-After` of HTTP, push-back of gRPC. Delays only this
/// caller's retry. If the breaker rejects a retry after such a pause, the retry waits for the breaker, too, but only
/// once.
///
/// Asked for results that are failures, and for those that are ignored, such as a 429: that says nothing about the server,
/// but when to try again. The pause is the hint plus what the [`Backoff`](super::Backoff) draws, so
/// that callers with the same hint do not return together. With a hint that ends after the deadline, however large, the
/// result is returned at once.
///
/// A closure is one: `|result: &Result<Response, Error>| result.as_ref().ok()?.retry_after()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say how long to wait after a `Result<{T}, {E}>`",
    note = "give the policy a closure: `.hint(|result: &Result<{T}, {E}>| ..)`"
)]
pub trait RetryHint<T, E> {
    /// The time that the server asks for, if it does.
    fn retry_hint(&self, result: &Result<T, E>) -> Option<Duration>;
}

/// Never asks for a wait. The default.
impl<T, E> RetryHint<T, E> for () {
    fn retry_hint(&self, _: &Result<T, E>) -> Option<Duration> {
        None
    }
}

impl<T, E, F: Fn(&Result<T, E>) -> Option<Duration>> RetryHint<T, E> for F {
    fn retry_hint(&self, result: &Result<T, E>) -> Option<Duration> {
        self(result)
    }
}
