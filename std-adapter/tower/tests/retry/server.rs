//! A server that answers by a script, behind a breaker and a policy.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_tower::{
    AnyBudget, Breaker, BreakerLayer, Classify, Config, Idempotent, RetryHint, RetryLayer,
    RetryPolicy, ServiceError, TokioClock,
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

/// Remembers when it was called. Lives as long as the tests, as their tasks want it.
pub(crate) struct Server {
    pub(crate) breaker: Breaker<TokioClock>,
    calls: Mutex<Vec<Instant>>,
    takes: Duration,
    script: Box<dyn Fn(usize) -> Answer + Send + Sync>,
}

impl Server {
    /// Which answers its call number 0, 1, … by `script`.
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

    /// Which fails its first calls.
    pub(crate) fn failing(rules: Config, first: usize) -> &'static Self {
        Self::new(
            rules,
            move |call| if call < first { fail() } else { Ok(200) },
        )
    }

    pub(crate) fn calls(&self) -> Vec<Instant> {
        self.calls.lock().unwrap().clone()
    }

    async fn answer(&self) -> Answer {
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

    /// A client with this policy.
    pub(crate) fn client<B, I, C, H>(
        &'static self,
        policy: RetryPolicy<B, I, C, H>,
    ) -> impl Service<Request, Response = u16, Error = Error, Future: Send + 'static>
    + Clone
    + Send
    + use<B, I, C, H>
    where
        B: AnyBudget<Request> + Clone + Send + 'static,
        I: Idempotent<Request> + Clone + Send + 'static,
        C: Classify<u16, io::Error> + Clone + Send + 'static,
        H: RetryHint<u16, io::Error> + Clone + Send + 'static,
    {
        ServiceBuilder::new()
            .layer(RetryLayer::new(policy))
            .layer(BreakerLayer::new(&self.breaker))
            .service(service_fn(move |_: Request| self.answer()))
    }
}

pub(crate) fn fail() -> Answer {
    Err(io::Error::other("no answer"))
}
