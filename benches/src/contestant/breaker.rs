// SPDX-License-Identifier: MIT OR Apache-2.0
//! `breaker`: a `parking_lot` read-write lock in an `Arc`; futures only.
//!
//! Its share of failures is switched off, so that failures in a row decide.

use std::future::ready;

use breaker::{BackoffStrategy, CircuitBreaker, CircuitBreakerConfig, CircuitBreakerError};

use std::pin::pin;

use super::{Answer, AsyncCaller, Caller, Contestant, Operation, Rules, Work, finish};

/// `breaker`.
pub struct BreakerCrate(CircuitBreaker);

impl Contestant for BreakerCrate {
    const NAME: &'static str = "breaker 2.0.2";
    const DESIGN: &'static str =
        "probes are bounded, and one whose future is dropped frees its slot: documented";
    type Caller<'a> = &'a CircuitBreaker;

    fn new(rules: Rules) -> Self {
        let config = CircuitBreakerConfig::builder()
            .consecutive_failures(rules.failures)
            .failure_rate_threshold(0.0)
            .backoff(BackoffStrategy::Fixed(rules.open_for))
            .half_open_max_calls(1)
            .success_threshold(1)
            .build();
        Self(CircuitBreaker::new(config))
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Caller for &CircuitBreaker {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(&finish(pin!(CircuitBreaker::call(self, || ready(
            operation()
        )))))
    }
}

impl AsyncCaller for &CircuitBreaker {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        answer(&CircuitBreaker::call(self, operation).await)
    }
}

fn answer<T, E>(result: &Result<T, CircuitBreakerError<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(CircuitBreakerError::Failure(_)) => Answer::Failed,
        Err(_) => Answer::Rejected,
    }
}
