// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that answers by a script, behind a breaker, with retries.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_server::{AnyError, Classify};
use atomic_breaker_tower::{
    Breaker, BreakerLayer, BudgetOf, Config, ObserveRetries, Outcome, RetryLayer, RetryPolicy,
    ServiceError, TokioClock,
};
use tokio::time::{Instant, sleep};
use tower::{Service, ServiceBuilder, service_fn};

/// One that may be sent twice, and one that must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Read,
    Append,
}

pub(crate) type Answer = Result<u16, io::Error>;
pub(crate) type Error = ServiceError<io::Error>;

/// Never opens by itself.
pub(crate) const LENIENT: Config = Config::new().consecutive_failures(65_535);

/// Every request may be sent twice.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as requests are")]
pub(crate) fn always(_: &Request) -> bool {
    true
}

/// Repeats every request. Closures say what a result means, and when the server asks to try again.
#[derive(Clone, Copy)]
pub(crate) struct Judged<C, H>(pub(crate) C, pub(crate) H);

impl<Q, T, E, C, H> RetryPolicy<Q, T, E> for Judged<C, H>
where
    C: Fn(&Result<T, E>) -> Outcome,
    H: Fn(&Result<T, E>) -> Option<Duration>,
{
    fn may_repeat(&self, _: &Q) -> bool {
        true
    }

    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self.0(result)
    }

    fn retry_after(&self, result: &Result<T, E>) -> Option<Duration> {
        self.1(result)
    }
}

/// Every request may be repeated; this says what its results mean.
pub(crate) fn judged<C: Fn(&Answer) -> Outcome>(
    classify: C,
) -> Judged<C, impl Fn(&Answer) -> Option<Duration> + Copy> {
    Judged(classify, |_: &Answer| None)
}

/// Every request may be repeated, no sooner than this says.
pub(crate) fn hinted<H: Fn(&Answer) -> Option<Duration>>(
    hint: H,
) -> Judged<impl Fn(&Answer) -> Outcome + Copy, H> {
    Judged(|result: &Answer| AnyError.classify(result), hint)
}

/// Remembers when it was called. Lives as long as the tests, as their tasks want it.
pub(crate) struct Server {
    pub(crate) breaker: Breaker<TokioClock>,
    calls: Mutex<Vec<Instant>>,
    takes: Duration,
    script: Box<dyn Fn(usize) -> Answer + Send + Sync>,
}

impl Server {
    /// A server that answers its calls number 0, 1, … by `script`.
    pub(crate) fn new(
        rules: Config,
        script: impl Fn(usize) -> Answer + Send + Sync + 'static,
    ) -> &'static Self {
        Self::that_takes(Duration::ZERO, rules, script)
    }

    pub(crate) fn that_takes(
        takes: Duration,
        rules: Config,
        script: impl Fn(usize) -> Answer + Send + Sync + 'static,
    ) -> &'static Self {
        Box::leak(Box::new(Self {
            breaker: Breaker::new(rules, TokioClock),
            calls: Mutex::default(),
            takes,
            script: Box::new(script),
        }))
    }

    /// A server that fails its first calls.
    pub(crate) fn failing(rules: Config, first: usize) -> &'static Self {
        Self::new(
            rules,
            move |call| if call < first { fail() } else { Ok(200) },
        )
    }

    pub(crate) fn calls(&self) -> Vec<Instant> {
        self.calls.lock().unwrap().clone()
    }

    pub(crate) async fn answer(&self) -> Answer {
        let call = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(Instant::now());
            calls.len() - 1
        };
        if !self.takes.is_zero() {
            sleep(self.takes).await;
        }
        (self.script)(call)
    }

    /// A client with these retries.
    pub(crate) fn client<B, P, O>(
        &'static self,
        retry: RetryLayer<B, P, O>,
    ) -> impl Service<Request, Response = u16, Error = Error, Future: Send + 'static>
    + Clone
    + Send
    + use<B, P, O>
    where
        B: BudgetOf<Request> + Clone + Send + 'static,
        P: RetryPolicy<Request, u16, io::Error> + Clone + Send + 'static,
        O: ObserveRetries<Request, Memory: Send> + Clone + Send + 'static,
    {
        ServiceBuilder::new()
            .layer(retry)
            .layer(BreakerLayer::new(&self.breaker))
            .service(service_fn(move |_: Request| self.answer()))
    }
}

pub(crate) fn fail() -> Answer {
    Err(io::Error::other("no answer"))
}
