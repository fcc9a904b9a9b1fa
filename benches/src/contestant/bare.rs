// SPDX-License-Identifier: MIT OR Apache-2.0
//! No breaker at all: the cost of the operation by itself.

use super::{Answer, AsyncCaller, Caller, Contestant, Operation, Rules, Work};

/// Calls without a guard.
pub struct Bare;

impl Contestant for Bare {
    const NAME: &'static str = "no breaker";
    type Caller<'a> = &'a Self;

    fn new(_rules: Rules) -> Self {
        Self
    }

    fn caller(&self) -> Self::Caller<'_> {
        self
    }
}

impl Caller for &Bare {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(operation())
    }
}

impl AsyncCaller for &Bare {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        answer(operation().await)
    }
}

fn answer(result: Work) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(_) => Answer::Failed,
    }
}
