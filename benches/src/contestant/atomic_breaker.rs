// SPDX-License-Identifier: MIT OR Apache-2.0
//! This project, with both clocks of its std adapter.

use std::time::Duration;

use atomic_breaker_http::{Breaker, Clock, Config, Ratio, StdClock};
use atomic_breaker_server::{CallError, LastCalls, Tally, word::NativeWord};
use atomic_breaker_std::CoarseClock;

use super::{Answer, AsyncCaller, Caller, Contestant, Operation, Rules, Work};

/// With `std`'s `Instant`.
pub struct AtomicBreaker(Breaker);

/// With the kernel's coarse clock.
pub struct Coarse(Breaker<CoarseClock>);

type Tallied = Breaker<StdClock, NativeWord, LastCalls>;

/// That also remembers the last 50 calls, in a second word.
pub struct WithTally(Tallied);

fn config(rules: Rules) -> Config {
    Config::new()
        .consecutive_failures(rules.failures)
        .open_for(rules.open_for)
        .probe_lease(Duration::from_millis(100))
}

impl Contestant for AtomicBreaker {
    const NAME: &'static str = "atomic-breaker";
    type Caller<'a> = &'a Breaker;

    fn new(rules: Rules) -> Self {
        Self(Breaker::new(config(rules), StdClock))
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Contestant for Coarse {
    const NAME: &'static str = "atomic-breaker, coarse clock";
    type Caller<'a> = &'a Breaker<CoarseClock>;

    fn new(rules: Rules) -> Self {
        Self(Breaker::new(config(rules), CoarseClock))
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Contestant for WithTally {
    const NAME: &'static str = "atomic-breaker, with `LastCalls`";
    type Caller<'a> = &'a Tallied;

    fn new(rules: Rules) -> Self {
        // No benchmark fails 50 calls in a row.
        let all = Ratio::percent(100).of_last(50).min_calls(50);
        let builder = Breaker::builder(config(rules).failure_ratio(all), StdClock);
        Self(builder.last_calls(LastCalls::new()).build())
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl<C: Clock, T: Tally> Caller for &Breaker<C, NativeWord, T> {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(&Breaker::call(self, operation))
    }
}

impl<C: Clock, T: Tally> AsyncCaller for &Breaker<C, NativeWord, T> {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        answer(&Breaker::call_async(self, operation).await)
    }
}

fn answer<T, E>(result: &Result<T, CallError<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(CallError::Failed(_)) => Answer::Failed,
        Err(CallError::Rejected(_)) => Answer::Rejected,
    }
}
