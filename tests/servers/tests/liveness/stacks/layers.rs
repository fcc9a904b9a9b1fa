// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers of tower over one breaker.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{
    Backoff, Breaker, Config, Outcome, RetryBudget, ServiceError, State, Timed,
};
use atomic_breaker_server::{Resource, word::NativeWord};
use atomic_breaker_tower::{
    BreakerLayer, GateLayer, RetryConfig, RetryLayer, RetryPolicy, TimeLimitLayer,
};
use tokio::time::{Sleep, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Look, Nervous, Stack, Trips, outcome, throw};

pub(super) type Guarded = Resource<Breaker<Time, NativeWord, (), Nervous>>;

/// One resource, and the stack built over it.
pub(super) struct Layered<K> {
    pub(super) host: Host,
    resource: Arc<Guarded>,
    config: Config,
    pub(super) kind: K,
}

/// The stack that is built.
pub(super) trait Kind: Sized + 'static {
    const IS_IDLE: bool = true;
    /// While traffic returns, a call that the breaker would reject is rejected. If it passes, its result does not
    /// count.
    const REJECTS: bool = true;

    fn new(resource: &Arc<Guarded>, dice: &mut Dice) -> Self;

    /// The time beside the breaker's own.
    fn adds(&self, _: &Calm) -> Duration {
        Duration::ZERO
    }

    fn call(of: &Layered<Self>, caller: Caller) -> impl Future<Output = Answer>;
}

impl<K: Kind> Stack for Layered<K> {
    const IS_IDLE: bool = K::IS_IDLE;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = rules(dice);
        let observer = Nervous::draw(dice);
        let breaker = Breaker::builder(config, Time).observer(observer).build();
        let resource = Arc::new(Resource::new(breaker));
        Self {
            host: host.clone(),
            kind: K::new(&resource, dice),
            resource,
            config,
        }
    }

    fn bound(&self, calm: &Calm) -> Duration {
        bound_of(&[self.config], calm) + self.kind.adds(calm)
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        K::call(&self, caller).await
    }

    fn look(&self, _: usize) -> Look {
        let snapshot = self.resource.breaker().snapshot();
        let look = Look::of(&snapshot);
        Look {
            is_closed: look.is_closed && (K::REJECTS || snapshot.state() == State::Closed),
            ..look
        }
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let command = std::panic::AssertUnwindSafe(|| command(self.resource.breaker(), dice));
        drop(std::panic::catch_unwind(command));
        true
    }

    fn settle(&self) {
        let_go(self.resource.breaker());
    }

    fn describe(&self) -> String {
        format!(
            "{:?} by {:?}",
            self.resource.breaker().snapshot(),
            self.config
        )
    }
}

pub(super) fn timed(result: &Result<u32, Timed<Trouble>>) -> Outcome {
    match result {
        Ok(answer) => outcome(&Ok(*answer)),
        Err(Timed::Failed(trouble)) => outcome(&Err(*trouble)),
        Err(Timed::TimedOut) => outcome(&Err(Trouble { retry_after: None })),
    }
}

/// Tries again, no sooner than the server says.
#[derive(Clone, Copy)]
struct Again;

impl RetryPolicy<(), u32, Timed<Trouble>> for Again {
    fn may_repeat(&self, (): &()) -> bool {
        true
    }

    fn classify(&self, result: &Result<u32, Timed<Trouble>>) -> Outcome {
        timed(result)
    }

    fn retry_after(&self, result: &Result<u32, Timed<Trouble>>) -> Option<Duration> {
        match result {
            Err(Timed::Failed(trouble)) => trouble.retry_after,
            _ => None,
        }
    }
}

pub(super) fn seen<E>(result: &Result<u32, ServiceError<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Served,
        Err(ServiceError::Failed(_)) => Answer::Failed,
        Err(ServiceError::Rejected(_)) => Answer::Rejected,
    }
}

/// The resource as a service.
pub(super) fn service(
    host: &Host,
    caller: Caller,
) -> impl Service<(), Response = u32, Error = Trouble, Future: Send> + Clone + use<> {
    let host = host.clone();
    service_fn(move |()| {
        let host = host.clone();
        async move {
            if caller.ending.panics() {
                throw();
            }
            host.answer_without_limit().await
        }
    })
}

struct OneBreaker;

impl Kind for OneBreaker {
    fn new(_: &Arc<Guarded>, _: &mut Dice) -> Self {
        Self
    }

    async fn call(of: &Layered<Self>, caller: Caller) -> Answer {
        let service = TimeLimitLayer::new(LIMIT).layer(service(&of.host, caller));
        let layer = BreakerLayer::new(Arc::clone(&of.resource)).classify(timed);
        seen(&layer.layer(service).oneshot(()).await)
    }
}

/// All calls pass, and the breaker changes state as if it rejected them.
struct Shadow;

impl Kind for Shadow {
    const REJECTS: bool = false;

    fn new(resource: &Arc<Guarded>, dice: &mut Dice) -> Self {
        resource
            .enforcement()
            .set_percent(dice.pick(&[0, 50]))
            .unwrap();
        Self
    }

    async fn call(of: &Layered<Self>, caller: Caller) -> Answer {
        let service = TimeLimitLayer::new(LIMIT).layer(service(&of.host, caller));
        let layer = BreakerLayer::new(Arc::clone(&of.resource)).classify(timed);
        seen(&layer.layer(service).oneshot(()).await)
    }
}

/// An endpoint that waits while the breaker would reject. It is polled every 20 ms at least, and once a second if
/// nothing wakes it.
struct Gate;

impl Kind for Gate {
    /// A waiting caller polls periodically.
    const IS_IDLE: bool = false;

    fn new(_: &Arc<Guarded>, _: &mut Dice) -> Self {
        Self
    }

    fn adds(&self, _: &Calm) -> Duration {
        Duration::from_secs(1)
    }

    async fn call(of: &Layered<Self>, caller: Caller) -> Answer {
        let service = TimeLimitLayer::new(LIMIT).layer(service(&of.host, caller));
        let layer = GateLayer::new(Arc::clone(&of.resource)).classify(timed);
        seen(&layer.layer(service).oneshot(()).await)
    }
}

/// A gate over a service that is sometimes not ready.
struct Unready;

/// Becomes ready a while after it was first polled.
#[derive(Clone)]
struct Moody<S> {
    inner: S,
    after: Duration,
}

struct Asked<S> {
    inner: S,
    after: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<S> Moody<S> {
    fn ask(self) -> Asked<S> {
        Asked {
            inner: self.inner,
            after: self.after,
            sleep: None,
        }
    }
}

impl<S: Service<()>> Service<()> for Asked<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let after = self.after;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(after)));
        match sleep.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => self.inner.poll_ready(context),
        }
    }

    fn call(&mut self, (): ()) -> S::Future {
        self.sleep = None;
        self.inner.call(())
    }
}

impl Kind for Unready {
    const IS_IDLE: bool = false;

    fn new(_: &Arc<Guarded>, _: &mut Dice) -> Self {
        Self
    }

    fn adds(&self, _: &Calm) -> Duration {
        Duration::from_secs(1) + UNREADY
    }

    async fn call(of: &Layered<Self>, caller: Caller) -> Answer {
        let inner = TimeLimitLayer::new(LIMIT).layer(service(&of.host, caller));
        let service = Moody {
            inner,
            after: UNREADY,
        };
        let layer = GateLayer::new(Arc::clone(&of.resource)).classify(timed);
        seen(&layer.layer(service.ask()).oneshot(()).await)
    }
}

const UNREADY: Duration = Duration::from_millis(700);

/// Retries above the breaker, some of which wait for it.
struct Retries {
    config: RetryConfig,
    budget: Arc<RetryBudget>,
}

impl Kind for Retries {
    fn new(_: &Arc<Guarded>, dice: &mut Dice) -> Self {
        let config = RetryConfig::new()
            .tries(dice.within(1..5))
            .backoff(Backoff::new().longest(Duration::from_secs(1)))
            .rejection_waits(dice.within(0..3));
        Self {
            config,
            budget: Arc::new(RetryBudget::new()),
        }
    }

    /// A request that began earlier may still be tried within its 10 s.
    fn adds(&self, _: &Calm) -> Duration {
        Duration::from_secs(10) + LIMIT
    }

    async fn call(of: &Layered<Self>, caller: Caller) -> Answer {
        let Self { config, budget } = &of.kind;
        let service = TimeLimitLayer::new(LIMIT).layer(service(&of.host, caller));
        let breaker = BreakerLayer::new(Arc::clone(&of.resource)).classify(timed);
        let retry = RetryLayer::new(*config, Arc::clone(budget), Again);
        seen(&retry.layer(breaker.layer(service)).oneshot(()).await)
    }
}

#[test]
fn a_breaker() {
    explore::<Layered<OneBreaker>>("stacks::layers::a_breaker", 30);
}

#[test]
fn a_resource_in_shadow() {
    explore::<Layered<Shadow>>("stacks::layers::a_resource_in_shadow", 30);
}

#[test]
fn a_gate() {
    explore::<Layered<Gate>>("stacks::layers::a_gate", 30);
}

#[test]
fn a_gate_over_a_service_that_is_not_ready_at_once() {
    let test = "stacks::layers::a_gate_over_a_service_that_is_not_ready_at_once";
    explore::<Layered<Unready>>(test, 30);
}

#[test]
fn retries() {
    explore::<Layered<Retries>>("stacks::layers::retries", 30);
}
