// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer around a breaker: numbers, budget and policy.

use atomic_breaker_server::RetryObserver;

use super::RetryConfig;
use super::observed::ObservedBy;

/// Repeats requests as a [`RetryPolicy`](super::RetryPolicy) says. Goes directly above a [`BreakerLayer`](crate::BreakerLayer), so that the
/// breaker is asked for each try. The types enforce that: the error must be a [`ServiceError`](crate::ServiceError).
///
/// | the result is | |
/// |---|---|
/// | a success | returned, and deposits a share of a token |
/// | [ignored](crate::Outcome::Ignored) | returned, unless the server [says when to try again](super::RetryPolicy::retry_after): then like a failure |
/// | a failure | tried again, if the request may be sent twice, a try is left, the pause ends before the deadline, and the budget has a token |
/// | a rejection | waited for, if the breaker says how long, the wait ends before the deadline, and a wait is left; costs no try and no token, as the request was not made |
///
/// Otherwise the result of the last try is returned. So a rejection is returned only for a request that was never made.
/// A response that is not returned is kept during the pause, and dropped as soon as the breaker has admitted the next try.
/// With another service between the two, such as an `async` block, a queue or a task, this is known only when that try has
/// ended: until then the response is kept, with the connection that it may hold. A request that is dropped in a pause gives
/// its token back. Once a response has been returned, its request is not retried: a body
/// that is truncated later is up to the caller.
///
/// After a pause that the [server asked for](super::RetryPolicy::retry_after), such as by a `Retry-After`, a rejection is waited for
/// once in any case: the same response has opened the breaker, which adds its jitter, so the retry would come too
/// early.
///
/// A request costs one reading of tokio's clock, a clone of the layer and, where it may be made again, a clone of the
/// request for each try, so its body must be cheap to clone, as `Bytes` is. reqwest's requests are not `Clone`: let the
/// stack take `http::Request<Bytes>`, and put the `HttpClient` of `atomic-breaker-http` below it. A streamed body cannot
/// be sent twice and must bypass this layer.
///
/// The breaker belongs below; the other way round, where a whole series of tries would be one call of the breaker, does
/// not compile:
///
/// ```compile_fail,E0599
/// # use atomic_breaker_tower::{
/// #     Breaker, BreakerLayer, Config, RetryBudget, RetryConfig, RetryLayer, breaker,
/// # };
/// # use tower::{ServiceBuilder, ServiceExt, service_fn};
/// # static SEARCH: Breaker = breaker(Config::new());
/// # static BUDGET: RetryBudget = RetryBudget::new();
/// # async fn search() {
/// let search = ServiceBuilder::new()
///     .layer(BreakerLayer::new(&SEARCH))
///     .layer(RetryLayer::new(RetryConfig::new(), &BUDGET, |_: &u32| true))
///     .service(service_fn(|_: u32| async { Err::<(), _>(std::io::Error::other("no answer")) }));
/// let _ = search.oneshot(7).await;
/// # }
/// ```
///
/// Not tower's layer of this name: that one drops the response of a try before it knows whether the next one will be
/// made, so a caller whose retry is rejected would lose what the host had said.
///
/// # Panics
/// A pause needs a tokio runtime with time enabled; without one, tokio panics.
#[derive(Clone, Copy, Debug)]
pub struct RetryLayer<B, P, O = ()> {
    pub(super) config: RetryConfig,
    pub(super) budget: B,
    pub(super) policy: P,
    pub(super) observer: O,
}

impl<B, P> RetryLayer<B, P> {
    /// A layer that follows a policy.
    ///
    /// `budget` is a reference to or an `Arc` of a [`RetryBudget`](super::RetryBudget), or a
    /// [`BudgetByKey`](super::BudgetByKey) with one for each host or other key. Under load from many
    /// threads use a `static` or leak it: cloning an `Arc` per request makes all of them write to the same memory.
    ///
    /// # Panics
    /// When the numbers are invalid; in a `static` or `const` that is a compile error. [Check](RetryConfig::check)
    /// numbers that are not known to be valid first.
    pub const fn new(config: RetryConfig, budget: B, policy: P) -> Self {
        if let Err(error) = config.check() {
            panic!("{}", error.0);
        }
        Self {
            config,
            budget,
            policy,
            observer: (),
        }
    }

    /// Notifies an observer of each try that failed, and of what followed. `key` is what a request is about, such as its host,
    /// and `()` if that says nothing.
    ///
    /// ```
    /// use atomic_breaker_tower::{OnRetry, RetryBudget, RetryConfig, RetryLayer, TryEvent};
    ///
    /// #[derive(Clone)]
    /// struct Request { tenant: u32 }
    ///
    /// static BUDGET: RetryBudget = RetryBudget::new();
    ///
    /// // 7: try 1, a failure: sent again after 80ms, 99 tokens left
    /// let log = OnRetry(|tenant: &u32, event: &TryEvent| println!("{tenant}: {event}"));
    /// let retry = RetryLayer::new(RetryConfig::new(), &BUDGET, |_: &Request| true)
    ///     .observer(|request: &Request| request.tenant, log);
    /// # let _ = retry;
    /// ```
    ///
    /// A try that [goes on](crate::TryLayer) when its caller has left is no longer the layer's: the observer of the breaker
    /// learns how it ends. With a `ClientGuard`, which makes the tries itself, its observer of retries does.
    pub fn observer<Q: ?Sized, K, F, O>(
        self,
        key: F,
        observer: O,
    ) -> RetryLayer<B, P, ObservedBy<O, F>>
    where
        F: Fn(&Q) -> K,
        O: RetryObserver<K>,
    {
        RetryLayer {
            config: self.config,
            budget: self.budget,
            policy: self.policy,
            observer: ObservedBy { observer, key },
        }
    }
}

impl<B, P, O> RetryLayer<B, P, O> {
    /// The numbers.
    pub const fn config(&self) -> &RetryConfig {
        &self.config
    }
}
