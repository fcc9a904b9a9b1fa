// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crates compared, each behind the same interface.
//!
//! A contestant is set up by its nearest policy to "so many failures in a row trip; one probe after
//! the open time; one success closes". If it has no such setting, its file says what it does instead.

mod atomic_breaker;
mod bare;
mod breaker;
mod circuit_breaker;
mod circuitbreaker_rs;
mod failsafe;
mod nobreak;
mod recloser;
mod tower_resilience;

pub use self::atomic_breaker::{AtomicBreaker, Coarse, WithTally};
pub use self::bare::Bare;
pub use self::breaker::BreakerCrate;
pub use self::circuit_breaker::CircuitBreakerCrate;
pub use self::circuitbreaker_rs::CircuitbreakerRs;
pub use self::failsafe::Failsafe;
pub use self::nobreak::Nobreak;
pub use self::recloser::{Recloser, RecloserFutures};
pub use self::tower_resilience::TowerResilience;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// The setup of a contestant.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// This many failures in a row trip.
    pub failures: u32,
    /// The time for which it stays open.
    pub open_for: Duration,
}

impl Rules {
    /// Three failures, then open for longer than any benchmark runs.
    pub const LASTING: Self = Self {
        failures: 3,
        open_for: Duration::from_hours(1),
    };
}

/// The guarded resource does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

/// The result of a guarded operation.
pub type Work = Result<u64, Down>;

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It ran and succeeded.
    Done,
    /// It ran and failed.
    Failed,
    /// It was rejected.
    Rejected,
}

/// A circuit breaker.
pub trait Contestant: Send + Sync + Sized + 'static {
    /// The crate and its version.
    const NAME: &'static str;

    /// The part of its documentation that explains its behaviour.
    const DESIGN: &'static str = "";

    /// The handle through which a thread calls.
    type Caller<'a>: Caller;

    /// A closed breaker.
    fn new(rules: Rules) -> Self;

    /// The handle of one thread.
    fn caller(&self) -> Self::Caller<'_>;

    /// A breaker that has tripped just now.
    ///
    /// # Panics
    /// When a thousand failures do not trip it.
    fn tripped(rules: Rules) -> Self {
        let breaker = Self::new(rules);
        breaker.trip();
        breaker
    }

    /// Fails until rejected; returns the number of failures that this took.
    ///
    /// # Panics
    /// When a thousand failures do not trip it.
    fn trip(&self) -> u32 {
        let mut caller = self.caller();
        (0..=1_000)
            .find(|_| caller.call(|| Err(Down)) == Answer::Rejected)
            .unwrap_or_else(|| panic!("{} does not trip", Self::NAME))
    }
}

/// Makes guarded calls of an operation.
pub trait Caller {
    /// One call, by closure; where a contestant takes futures only, by a future that is ready.
    fn call(&mut self, operation: impl FnOnce() -> Work + Send + 'static) -> Answer;
}

/// Makes guarded calls of a future.
pub trait AsyncCaller: Caller {
    /// One call.
    fn call_async<F: Operation>(
        &mut self,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Answer>;
}

/// A future to guard.
pub trait Operation: Future<Output = Work> + Send + 'static {}

impl<F: Future<Output = Work> + Send + 'static> Operation for F {}

/// Runs a future that hardly ever waits: polls without waker, as a busy executor would.
#[inline]
pub fn finish<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread::yield_now();
    }
}
