// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers of others, each by its defaults and as its users call it: by a future.
//!
//! A try is a future that waits for its reply. It is polled when it begins, which says whether it is admitted, and when
//! its reply is there; if its caller leaves, it is dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use failsafe::failure_policy::{self, FailurePolicy};
use failsafe::futures::CircuitBreaker as _;
use failsafe::{Config, StateMachine};
use harm::clock::draw;
use harm::guard::Guard;
use harm::reply::Reply;
use layered::{Layer as _, Service as _};
use recloser::{AsyncRecloser, Recloser};
use seatbelt::breaker::Breaker;
use seatbelt::{RecoveryInfo, ResilienceContext};
use tick::Clock;
use tokio::runtime::Runtime;
use tower::Service;
use tower_resilience_circuitbreaker::classifier::DefaultClassifier;
use tower_resilience_circuitbreaker::{CircuitBreaker, CircuitBreakerError, CircuitBreakerLayer};

/// The result of a try: it failed, or was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    Failed,
    Rejected,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl std::error::Error for Failed {}

const PENDING: u8 = 0;
const SERVED: u8 = 1;
const FAILED: u8 = 2;

/// A reply that is not there yet.
#[derive(Debug)]
pub(crate) struct Waits(Arc<AtomicU8>);

impl Future for Waits {
    type Output = Result<(), Failed>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.load(Relaxed) {
            PENDING => Poll::Pending,
            SERVED => Poll::Ready(Ok(())),
            _ => Poll::Ready(Err(Failed::Failed)),
        }
    }
}

type Guarded = Pin<Box<dyn Future<Output = Result<(), Failed>>>>;

/// A breaker that makes a guarded future of a future.
pub(crate) struct ByFuture<F>(F);

/// A try.
pub(crate) struct Try {
    guarded: Guarded,
    reply: Arc<AtomicU8>,
}

fn poll(guarded: &mut Guarded) -> Poll<Result<(), Failed>> {
    guarded
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
}

impl<F: FnMut(Waits) -> Guarded> Guard for ByFuture<F> {
    type Permit = Try;

    fn admit(&mut self) -> Result<Try, Option<Duration>> {
        let reply = Arc::new(AtomicU8::new(PENDING));
        let mut guarded = (self.0)(Waits(Arc::clone(&reply)));
        match poll(&mut guarded) {
            Poll::Pending => Ok(Try { guarded, reply }),
            Poll::Ready(result) => {
                assert_eq!(result, Err(Failed::Rejected), "it has no reply yet");
                Err(None)
            }
        }
    }

    fn end(&mut self, mut permit: Try, reply: Reply) {
        let reply = if reply.is_error() { FAILED } else { SERVED };
        permit.reply.store(reply, Relaxed);
        assert!(poll(&mut permit.guarded).is_ready(), "its reply is there");
    }

    fn leave(&mut self, permit: Try) -> Option<Try> {
        drop(permit);
        None
    }
}

/// The default of failsafe from ten seconds to five minutes, drawn from the seed of the run.
#[derive(Clone, Debug)]
struct EqualJittered(u32);

impl Iterator for EqualJittered {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let exponential = 10_u64.saturating_mul(1 << self.0.min(30)).min(300);
        self.0 += 1;
        let half = exponential / 2;
        Some(Duration::from_secs(half + draw() % (half + 1)))
    }
}

fn by_failsafe<P>(policy: P) -> ByFuture<impl FnMut(Waits) -> Guarded>
where
    P: FailurePolicy + Send + Sync + 'static,
{
    let machine: StateMachine<P, ()> = Config::new().failure_policy(policy).build();
    ByFuture(move |waits| -> Guarded {
        let guarded = machine.call(waits);
        Box::pin(async move {
            guarded.await.map_err(|error| match error {
                failsafe::Error::Inner(failed) => failed,
                failsafe::Error::Rejected => Failed::Rejected,
            })
        })
    })
}

/// 80 % of at least 5 calls within 30 s, or 5 failures in a row; 10 s to 5 min.
pub(crate) fn failsafe() -> ByFuture<impl FnMut(Waits) -> Guarded> {
    let rate = failure_policy::success_rate_over_time_window(
        0.8,
        5,
        Duration::from_secs(30),
        EqualJittered(0),
    );
    let row = failure_policy::consecutive_failures(5, EqualJittered(0));
    by_failsafe(rate.or_else(row))
}

fn by_recloser(recloser: Recloser) -> ByFuture<impl FnMut(Waits) -> Guarded> {
    let recloser = AsyncRecloser::from(recloser);
    ByFuture(move |waits| -> Guarded {
        let guarded = recloser.call(waits);
        Box::pin(async move {
            guarded.await.map_err(|error| match error {
                recloser::Error::Inner(failed) => failed,
                recloser::Error::Rejected => Failed::Rejected,
            })
        })
    })
}

/// Half of the last 100 calls; 30 s; then half of 10.
pub(crate) fn recloser() -> ByFuture<impl FnMut(Waits) -> Guarded> {
    by_recloser(Recloser::custom().build())
}

/// Runs the future that it is sent.
#[derive(Clone, Copy, Debug)]
struct Run;

impl Service<Waits> for Run {
    type Response = ();
    type Error = Failed;
    type Future = Waits;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, waits: Waits) -> Waits {
        waits
    }
}

impl layered::Service<Waits> for Run {
    type Out = Result<(), Failed>;

    async fn execute(&self, waits: Waits) -> Self::Out {
        waits.await
    }
}

fn by_tower(
    mut service: CircuitBreaker<Run, DefaultClassifier>,
) -> ByFuture<impl FnMut(Waits) -> Guarded> {
    let failed = |error| match error {
        CircuitBreakerError::Inner(failed) => failed,
        CircuitBreakerError::OpenCircuit => Failed::Rejected,
    };
    ByFuture(move |waits| -> Guarded {
        let mut context = Context::from_waker(Waker::noop());
        match Service::<Waits>::poll_ready(&mut service, &mut context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Box::pin(std::future::ready(Err(failed(error)))),
            Poll::Pending => unreachable!("no other thread has its lock"),
        }
        let guarded = service.call(waits);
        Box::pin(async move { guarded.await.map_err(failed) })
    })
}

/// Half of the last 100 calls, once 100 were seen; 30 s; one probe.
pub(crate) fn tower_resilience() -> ByFuture<impl FnMut(Waits) -> Guarded> {
    let layer = CircuitBreakerLayer::builder().build();
    by_tower(layer.expect("its defaults").layer_fn(Run))
}

fn by_seatbelt(
    breaker: Breaker<Waits, Result<(), Failed>, Run>,
) -> ByFuture<impl FnMut(Waits) -> Guarded> {
    let breaker = Arc::new(breaker);
    ByFuture(move |waits| -> Guarded {
        let breaker = Arc::clone(&breaker);
        Box::pin(async move { breaker.execute(waits).await })
    })
}

/// A tenth of at least 100 calls within 30 s; 5 s; six stages of growing shares.
pub(crate) fn seatbelt(runtime: &Runtime) -> ByFuture<impl FnMut(Waits) -> Guarded> {
    by_seatbelt(seatbelt_layer(runtime, |layer| layer))
}

type Layer = seatbelt::breaker::BreakerLayer<Waits, Result<(), Failed>>;

fn seatbelt_layer(
    runtime: &Runtime,
    set: impl FnOnce(Layer) -> Layer,
) -> Breaker<Waits, Result<(), Failed>, Run> {
    let clock = {
        let _entered = runtime.enter();
        Clock::new_tokio()
    };
    // Which calls are probes is drawn by this.
    fastrand::seed(draw());
    let context = ResilienceContext::new(clock);
    let layer = Breaker::layer("host", &context)
        .recovery_with(|result: &Result<(), Failed>, _| match result {
            Ok(()) => RecoveryInfo::never(),
            Err(_) => RecoveryInfo::retry(),
        })
        .rejected_input_error(|_, _| Failed::Rejected);
    set(layer).layer(Run)
}

/// With the settings that do best here: 20 failures in a row, or else nine tenths of the calls of a second, or of the last
/// hundred; a second; one probe.
pub(crate) mod tuned {
    use std::time::Duration;

    use failsafe::failure_policy;
    use recloser::Recloser;
    use seatbelt::breaker::HalfOpenMode;
    use tokio::runtime::Runtime;
    use tower_resilience_circuitbreaker::CircuitBreakerLayer;

    use super::{
        ByFuture, Guarded, Run, Waits, by_failsafe, by_recloser, by_seatbelt, by_tower,
        seatbelt_layer,
    };

    const SECOND: Duration = Duration::from_secs(1);

    pub(crate) fn failsafe() -> ByFuture<impl FnMut(Waits) -> Guarded> {
        let backoff = failsafe::backoff::constant(SECOND);
        by_failsafe(failure_policy::consecutive_failures(20, backoff))
    }

    pub(crate) fn recloser() -> ByFuture<impl FnMut(Waits) -> Guarded> {
        let recloser = Recloser::custom()
            .error_rate(0.9)
            .half_open_len(1)
            .open_wait(SECOND);
        by_recloser(recloser.build())
    }

    pub(crate) fn tower_resilience() -> ByFuture<impl FnMut(Waits) -> Guarded> {
        let layer = CircuitBreakerLayer::builder()
            .consecutive_failures(20)
            .wait_duration_in_open(SECOND)
            .build();
        by_tower(layer.expect("sound settings").layer_fn(Run))
    }

    pub(crate) fn seatbelt(runtime: &Runtime) -> ByFuture<impl FnMut(Waits) -> Guarded> {
        by_seatbelt(seatbelt_layer(runtime, |layer| {
            layer
                .failure_threshold(0.9)
                .min_throughput(20)
                .sampling_duration(SECOND)
                .break_duration(SECOND)
                .half_open_mode(HalfOpenMode::quick())
        }))
    }
}
