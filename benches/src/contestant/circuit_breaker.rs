// SPDX-License-Identifier: MIT OR Apache-2.0
//! `circuit_breaker`: a `std` mutex in an `Arc`; errors are boxed.
//!
//! Closures only. Failures add up until the breaker has tripped and closed again: a success while
//! closed does not end a row.

use circuit_breaker::{CircuitBreaker, CircuitBreakerError};

use super::{Answer, Caller, Contestant, Rules, Work};

/// `circuit_breaker`.
pub struct CircuitBreakerCrate(CircuitBreaker);

impl Contestant for CircuitBreakerCrate {
    const NAME: &'static str = "circuit_breaker 0.1.1";
    const DESIGN: &'static str = "half-open lets \"a limited number of requests\" through, it says, but there is no limit; \
        failures are counted in a row or not, as documented";
    type Caller<'a> = &'a CircuitBreaker;

    fn new(rules: Rules) -> Self {
        Self(CircuitBreaker::new(rules.failures, rules.open_for))
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Caller for &CircuitBreaker {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        match self.execute(operation) {
            Ok(_) => Answer::Done,
            Err(error) if error.is::<CircuitBreakerError>() => Answer::Rejected,
            Err(_) => Answer::Failed,
        }
    }
}
