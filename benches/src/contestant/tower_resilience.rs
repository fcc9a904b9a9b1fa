// SPDX-License-Identifier: MIT OR Apache-2.0
//! `tower-resilience-circuitbreaker`: a tower layer over a `tokio` mutex, its future in a box.
//!
//! Futures only. A thread calls through a clone of the service, as tower's users do.

use std::future::poll_fn;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use tokio::runtime::{self, EnterGuard, Runtime};
use tower::Service;
use tower_resilience_circuitbreaker::classifier::DefaultClassifier;
use tower_resilience_circuitbreaker::{CircuitBreaker, CircuitBreakerError, CircuitBreakerLayer};

use std::pin::pin;

use super::{Answer, AsyncCaller, Caller, Contestant, Down, Operation, Rules, Work, finish};

/// If its lock is taken while the circuit is not closed, it sleeps for a millisecond, with tokio.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = runtime::Builder::new_multi_thread();
    builder
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("tokio starts a thread")
});

/// The guarded service: runs the future that it is sent.
#[derive(Clone, Copy, Debug)]
struct Run;

type Guarded = CircuitBreaker<Run, DefaultClassifier>;

/// `tower-resilience-circuitbreaker`.
pub struct TowerResilience(Guarded);

/// A clone of the service, and the runtime that it needs.
pub struct Clone {
    service: Guarded,
    _runtime: EnterGuard<'static>,
}

impl<F: Future<Output = Work>> Service<F> for Run {
    type Response = u64;
    type Error = Down;
    type Future = F;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Down>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, future: F) -> F {
        future
    }
}

impl Contestant for TowerResilience {
    const NAME: &'static str = "tower-resilience-circuitbreaker 0.14.0";
    const DESIGN: &'static str =
        "probes are bounded, and a cancelled one frees its slot: documented";
    type Caller<'a> = Clone;

    fn new(rules: Rules) -> Self {
        let layer = CircuitBreakerLayer::builder()
            .consecutive_failures(rules.failures as usize)
            .wait_duration_in_open(rules.open_for)
            .permitted_calls_in_half_open(1)
            .build()
            .expect("the rules are sound");
        Self(layer.layer_fn(Run))
    }

    fn caller(&self) -> Clone {
        Clone {
            service: self.0.clone(),
            _runtime: RUNTIME.enter(),
        }
    }
}

impl Caller for Clone {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        // The operation runs when the future is polled, that is, if the call is admitted.
        finish(pin!(self.call_async(|| async { operation() })))
    }
}

impl AsyncCaller for Clone {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        let request = operation();
        match poll_fn(|context| service_ready(&mut self.service, &request, context)).await {
            Ok(()) => answer(&self.service.call(request).await),
            Err(error) => answer(&Err(error)),
        }
    }
}

type Answered = Result<u64, CircuitBreakerError<Down>>;

/// Names the request's type, by which the service is chosen.
fn service_ready<F: Operation>(
    service: &mut Guarded,
    _request: &F,
    context: &mut Context<'_>,
) -> Poll<Result<(), CircuitBreakerError<Down>>> {
    Service::<F>::poll_ready(service, context)
}

fn answer(result: &Answered) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(CircuitBreakerError::Inner(_)) => Answer::Failed,
        Err(_) => Answer::Rejected,
    }
}
