//! When a request is made again.

use std::mem;
use std::time::Duration;

use atomic_breaker::{AnyError, Classify, Outcome, Rejected, State};
use tower::retry::Policy;

use super::session::Session;
use super::{AnyBudget, ByMethod, Idempotent, NoHint, Pause, RetryBudget, RetryConfig, RetryHint};
#[cfg(feature = "http")]
use crate::http::HttpClassifier;
use crate::{Rejection, ServiceError};

/// When a request is made again: a [`Policy`] for [`RetryLayer`](super::RetryLayer), which goes directly above a
/// [`BreakerLayer`](crate::tower::BreakerLayer), so that the breaker is asked for each try. The types see to
/// that: the error must be a [`ServiceError`].
///
/// | the result is | |
/// |---|---|
/// | a success | it is the answer, and deposits a share of a token |
/// | [ignored](Outcome::Ignored) | it is the answer |
/// | a failure | tried again, if the request may be sent twice, a try is left, the pause ends before the deadline, and the budget has a token |
/// | a rejection | waited for, if the breaker says how long, that ends before the deadline, and a wait is left; costs no try and no token, as the request was not made |
///
/// Otherwise the last result is the answer; after a wait in vain that is the rejection, which has the
/// [number of tries](Rejection::failed_tries) that failed before. A request that is dropped
/// in a pause gives its token back. A response that was handed out is never asked for again: a body that breaks
/// off later is the caller's.
///
/// What counts as a failure: every error, or what a [classifier](Self::classify) says, best the same as that of
/// the breaker.
///
/// A request costs one reading of tokio's clock, a clone of the policy and a clone of the request for each try, so
/// its body must be cloned cheaply, as `Bytes` is. reqwest's requests are not `Clone`: let the stack take
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
    config: RetryConfig,
    budget: B,
    idempotent: I,
    classify: C,
    hint: H,
    session: Session,
}

/// A [`RetryPolicy`] for HTTP: [`RetryPolicy::http`].
#[cfg(feature = "http")]
pub type HttpRetryPolicy<B = &'static RetryBudget> =
    RetryPolicy<B, ByMethod, HttpClassifier, HttpClassifier>;

#[cfg(feature = "http")]
impl<B: AnyBudget> HttpRetryPolicy<B> {
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
            session: Session::new(),
        }
    }
}

impl<B: AnyBudget, I> RetryPolicy<B, I> {
    /// A policy for requests of any kind.
    ///
    /// `budget` is a reference or an `Arc` of a [`RetryBudget`]. Under load from many threads take a `static` or
    /// leak it: a clone of an `Arc` per request is memory that all of them write. `idempotent` says which requests
    /// [may be sent twice](Idempotent); `|_| true` for all of them.
    ///
    /// # Panics
    /// When the numbers make no sense; in a `static` or `const` that is a compile error. Numbers that are not
    /// known to be right are [checked](RetryConfig::check) before.
    pub const fn new<Q>(config: RetryConfig, budget: B, idempotent: I) -> Self
    where
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
            session: Session::new(),
        }
    }
}

impl<B, I, C, H> RetryPolicy<B, I, C, H> {
    /// What a result means, by a [classifier](Classify) as the breaker's: only a failure is tried again, and only
    /// a success deposits.
    pub fn classify<K>(self, classify: K) -> RetryPolicy<B, I, K, H> {
        RetryPolicy {
            config: self.config,
            budget: self.budget,
            idempotent: self.idempotent,
            classify,
            hint: self.hint,
            session: self.session,
        }
    }

    /// How long the server asks to wait, by its response: a closure, or something else that
    /// [knows](RetryHint).
    pub fn hint<N>(self, hint: N) -> RetryPolicy<B, I, C, N> {
        RetryPolicy {
            config: self.config,
            budget: self.budget,
            idempotent: self.idempotent,
            classify: self.classify,
            hint,
            session: self.session,
        }
    }

    /// The numbers.
    pub const fn config(&self) -> &RetryConfig {
        &self.config
    }
}

impl<B, I, C, H> RetryPolicy<B, I, C, H>
where
    B: AnyBudget + Clone,
{
    fn after_failure<Q>(&mut self, request: &Q, hint: Option<Duration>) -> Option<Pause<B>>
    where
        I: Idempotent<Q>,
    {
        let pause = self.session.failed(&self.config, hint)?;
        let budget = self.budget.as_budget();
        // The token last, so that none is taken in vain.
        if !self.idempotent.is_idempotent(request) || !budget.withdraw() {
            return None;
        }
        self.session.holds_token = true;
        Some(self.pause(pause))
    }

    fn after_rejection(&mut self, retry_in: Option<Duration>) -> Option<Pause<B>> {
        if let Some(pause) = self.session.rejected(&self.config, retry_in) {
            return Some(self.pause(pause));
        }
        if mem::take(&mut self.session.holds_token) {
            self.budget.as_budget().give_back();
        }
        None
    }

    fn pause(&self, time: Duration) -> Pause<B> {
        Pause::new(time, self.session.holds_token.then(|| self.budget.clone()))
    }
}

impl<Q, T, E, B, I, C, H> Policy<Q, T, ServiceError<E>> for RetryPolicy<B, I, C, H>
where
    Q: Clone,
    B: AnyBudget + Clone,
    I: Idempotent<Q>,
    C: Classify<T, E>,
    H: RetryHint<T, E>,
{
    type Future = Pause<B>;

    fn retry(
        &mut self,
        request: &mut Q,
        result: &mut Result<T, ServiceError<E>>,
    ) -> Option<Pause<B>> {
        let judged = judge(result, |result| match self.classify.classify(result) {
            Outcome::Failure(_) => Meaning::Failure(self.hint.retry_hint(result)),
            Outcome::Success => Meaning::Success,
            Outcome::Ignored => Meaning::Ignored,
        });
        match judged {
            Meaning::Success => self.budget.as_budget().deposit(),
            Meaning::Ignored => {}
            Meaning::Failure(hint) => return self.after_failure(request, hint),
            Meaning::Rejected(retry_in) => {
                let pause = self.after_rejection(retry_in);
                if let (None, Err(ServiceError::Rejected(rejection))) = (&pause, result) {
                    rejection.failed_tries = self.session.failed;
                }
                return pause;
            }
        }
        None
    }

    fn clone_request(&mut self, request: &Q) -> Option<Q> {
        self.session.begin();
        Some(request.clone())
    }
}

/// What a result means.
enum Meaning {
    Success,
    Ignored,
    Failure(Option<Duration>),
    Rejected(Option<Duration>),
}

/// Shows the service's own result, as the breaker's classifier wants it: taken out and put back.
fn judge<T, E>(
    result: &mut Result<T, ServiceError<E>>,
    meaning: impl FnOnce(&Result<T, E>) -> Meaning,
) -> Meaning {
    let placeholder = Rejection::from(Rejected::new(State::ForcedOpen, Duration::ZERO));
    let taken = match mem::replace(result, Err(ServiceError::Rejected(placeholder))) {
        Ok(value) => Ok(value),
        Err(ServiceError::Failed(error)) => Err(error),
        Err(ServiceError::Rejected(rejection)) => {
            let retry_in = rejection.retry_in();
            *result = Err(ServiceError::Rejected(rejection));
            return Meaning::Rejected(retry_in);
        }
    };
    let meaning = meaning(&taken);
    *result = taken.map_err(ServiceError::Failed);
    meaning
}
