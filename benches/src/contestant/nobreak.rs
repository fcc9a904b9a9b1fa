// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nobreak`: a `std` mutex, taken twice per call.
//!
//! Half-open admits all calls, as its documentation says.

use nobreak::{CircuitBreaker, CircuitError};

use super::{Answer, AsyncCaller, Caller, Contestant, Operation, Rules, Work};

/// `nobreak`.
pub struct Nobreak(CircuitBreaker);

impl Contestant for Nobreak {
    const NAME: &'static str = "nobreak 0.1.0";
    const DESIGN: &'static str =
        "half-open \"allows calls through again\", without limit: documented";
    type Caller<'a> = &'a CircuitBreaker;

    fn new(rules: Rules) -> Self {
        let builder = nobreak::builder()
            .with_failure_threshold(rules.failures as usize)
            .with_success_threshold(1)
            .with_open_duration(rules.open_for);
        Self(builder.build())
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Caller for &CircuitBreaker {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(&CircuitBreaker::call(self, operation))
    }
}

impl AsyncCaller for &CircuitBreaker {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        answer(&CircuitBreaker::call_async(self, operation).await)
    }
}

fn answer<T, E>(result: &Result<T, CircuitError<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(CircuitError::Failed { .. }) => Answer::Failed,
        Err(CircuitError::Open) => Answer::Rejected,
    }
}
