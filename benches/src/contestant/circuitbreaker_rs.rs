// SPDX-License-Identifier: MIT OR Apache-2.0
//! `circuitbreaker-rs`: atomics for state and counts, `parking_lot` mutexes for times; measures
//! every call.
//!
//! Its share of failures is switched off, so that failures in a row decide. The number of probes is
//! "a load, then a subtraction".

use circuitbreaker_rs::{BreakerError, CircuitBreaker, DefaultPolicy};

use super::{Answer, AsyncCaller, Caller, Contestant, Down, Operation, Rules, Work};

type Breaker = CircuitBreaker<DefaultPolicy, Down>;

/// `circuitbreaker-rs`.
pub struct CircuitbreakerRs(Breaker);

impl Contestant for CircuitbreakerRs {
    const NAME: &'static str = "circuitbreaker-rs 0.1.1";
    const DESIGN: &'static str = "half-open lets \"a limited number of test calls\" through: the limit does not count the \
        call that finds the open time over, and is not refilled before the next trip";
    type Caller<'a> = &'a Breaker;

    fn new(rules: Rules) -> Self {
        let builder = CircuitBreaker::<DefaultPolicy, Down>::builder()
            .failure_threshold(2.0)
            .consecutive_failures(rules.failures.into())
            .consecutive_successes(1)
            .probe_interval(1)
            .cooldown(rules.open_for);
        Self(builder.build())
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Caller for &Breaker {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(&CircuitBreaker::call(self, operation))
    }
}

impl AsyncCaller for &Breaker {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        answer(&CircuitBreaker::call_async(self, operation).await)
    }
}

fn answer<T>(result: &Result<T, BreakerError<Down>>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(BreakerError::Open) => Answer::Rejected,
        Err(_) => Answer::Failed,
    }
}
