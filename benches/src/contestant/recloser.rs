// SPDX-License-Identifier: MIT OR Apache-2.0
//! `recloser`: states in epoch-reclaimed boxes, outcomes in a ring buffer behind a spin lock.
//!
//! It has shares of failures only, judged once the ring is full. A ring of the limit's length and a
//! share of all of it trips after that many failures in a row, the first time after one more. Half-open admits
//! all calls; with the shortest ring, two successes close.

use recloser::{AsyncRecloser, Error, Recloser as Ring};

use std::pin::pin;

use super::{Answer, AsyncCaller, Caller, Contestant, Operation, Rules, Work, finish};

/// `recloser`.
pub struct Recloser(Ring);

/// `recloser` for futures, in an `Arc`.
pub struct RecloserFutures(AsyncRecloser);

fn ring(rules: Rules) -> Ring {
    Ring::custom()
        .error_rate(1.0)
        .closed_len(rules.failures as usize)
        .half_open_len(1)
        .open_wait(rules.open_for)
        .build()
}

impl Contestant for Recloser {
    const NAME: &'static str = "recloser 1.4.0";
    const DESIGN: &'static str =
        "half-open admits every caller and judges a ring full of calls: documented";
    type Caller<'a> = &'a Ring;

    fn new(rules: Rules) -> Self {
        Self(ring(rules))
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Contestant for RecloserFutures {
    const NAME: &'static str = Recloser::NAME;
    type Caller<'a> = &'a AsyncRecloser;

    fn new(rules: Rules) -> Self {
        Self(ring(rules).into())
    }

    fn caller(&self) -> Self::Caller<'_> {
        &self.0
    }
}

impl Caller for &Ring {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        answer(&Ring::call(self, operation))
    }
}

impl Caller for &AsyncRecloser {
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer {
        finish(pin!(self.call_async(|| async { operation() })))
    }
}

impl AsyncCaller for &AsyncRecloser {
    async fn call_async<F: Operation>(&mut self, operation: impl FnOnce() -> F) -> Answer {
        answer(&AsyncRecloser::call(self, operation()).await)
    }
}

fn answer<T, E>(result: &Result<T, Error<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(Error::Inner(_)) => Answer::Failed,
        Err(Error::Rejected) => Answer::Rejected,
    }
}
