// SPDX-License-Identifier: MIT OR Apache-2.0
//! `failsafe`: a state machine behind a `parking_lot` mutex, in an `Arc`.
//!
//! Half-open admits all calls, as its documentation says; one success closes.

use failsafe::backoff::Constant;
use failsafe::failure_policy::ConsecutiveFailures;
use failsafe::{Error, StateMachine, backoff, failure_policy};

use super::{Answer, AsyncCaller, Caller, Contestant, Operation, Rules, Work};

type Machine = StateMachine<ConsecutiveFailures<Constant>, ()>;

/// `failsafe`.
pub struct Failsafe(Machine);

impl Contestant for Failsafe {
    const NAME: &'static str = "failsafe 1.3.0";
    const DESIGN: &'static str =
        "half-open admits every caller and the first report decides: documented";
    type Caller<'a> = &'a Machine;

    fn new(rules: Rules) -> Self {
        let policy =
            failure_policy::consecutive_failures(rules.failures, backoff::constant(rules.open_for));
        Self(failsafe::Config::new().failure_policy(policy).build())
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Caller for &Machine {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(&failsafe::CircuitBreaker::call(*self, operation))
    }
}

impl AsyncCaller for &Machine {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        // Its futures have to be `TryFuture`, which every future of a `Result` is.
        answer(&failsafe::futures::CircuitBreaker::call(*self, operation()).await)
    }
}

fn answer<T, E>(result: &Result<T, Error<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(Error::Inner(_)) => Answer::Failed,
        Err(Error::Rejected) => Answer::Rejected,
    }
}
