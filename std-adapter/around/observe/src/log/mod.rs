// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observer that logs.

mod event;
#[cfg(feature = "steps")]
mod jobs;
mod keys;
mod sampler;
mod samplers;
mod successes;

use std::borrow::Cow;
use std::fmt;
use std::mem;
use std::sync::OnceLock;
use std::time::Duration;

use atomic_breaker_server::{
    Clock, Enforcement, FailedCall, Observer, Outcome, Rejected, StdClock, Transition,
    redact::printable,
};

use crate::label::Mode;
use event::{FailureSeen, Sampled};
use sampler::{Sampler, whole_ms};
use samplers::KeySamplers;
pub use successes::LogSuccesses;

/// Logs the transitions of a breaker, or of all keys of a registry, and a sample of the rejections and of the failed
/// calls, as events of `tracing`; with the feature `steps` also what an operator must know of durable jobs.
///
/// ```
/// use atomic_breaker_observe::Log;
/// use atomic_breaker_server::{Breaker, Config, Guard, Registry, RegistryError, StdClock};
///
/// let payments = Breaker::builder(Config::new(), StdClock).observer(Log::new("payments")).build();
/// payments.trip();
/// // WARN atomic_breaker::transition: closed -> open: by command, for 5s circuit_breaker.name="payments" ..
///
/// let hosts = Registry::builder(Config::new().consecutive_failures(1)).observer(Log::new("hosts")).build()?;
/// let _ = hosts.of("a.example").call(|| Err::<(), _>("no answer"));
/// // WARN atomic_breaker::transition: closed -> open: failures reached the limit, for 5s circuit_breaker.name="hosts"
/// // circuit_breaker.key="a.example" ..
/// # Ok::<(), RegistryError>(())
/// ```
///
/// | target | level | event |
/// |---|---|---|
/// | `atomic_breaker::transition` | `WARN` | a breaker opens, is forced open, or its word was corrupt |
/// | `atomic_breaker::transition` | `INFO` | every other transition |
/// | `atomic_breaker::rejection` | `INFO` | the first rejection of each open period, then at most one per second |
/// | `atomic_breaker::failure` | `INFO` | the first three failed calls of each second: why, how long it took |
/// | `atomic_breaker::call` | `DEBUG` | each call that failed or was rejected, for subscribers that add events to the span of the caller |
///
/// Samples are taken for each breaker or key. The number left out is stated in the next event of the same target, or when
/// the log is dropped; what is filtered out is not counted. With its level off, an event costs the check of the filter.
///
/// A breaker alone does not know why a call failed: its failures are logged if it is in a
/// [`Resource`](atomic_breaker_server::Resource). A call that was cancelled, or that passed in shadow mode, has not failed.
///
/// A key is logged with its `Display` text. It may come from outside: the first 128 bytes are logged, with control
/// characters escaped. Up to 1,024 keys that reject, and as many that fail, are sampled individually; beyond that, keys
/// that have been silent for ten intervals make room, and the rest are sampled together under the key `other`.
///
/// Use one log per breaker or registry: the rejections and failures of several breakers would be sampled together. `C` is
/// the clock for the sampling.
pub struct Log<C = StdClock> {
    name: Cow<'static, str>,
    clock: C,
    rejections_every_ms: u32,
    failures_every_ms: u32,
    enforcement: Option<fn() -> &'static Enforcement>,
    /// Selects rejections of a single breaker.
    sampler: Sampler,
    /// Selects failures of a single breaker.
    failures: Sampler,
    /// Selects rejections of the keys of a registry.
    keys: OnceLock<KeySamplers>,
    /// Selects failures of the keys of a registry.
    failing_keys: OnceLock<KeySamplers>,
    #[cfg(feature = "steps")]
    jobs: OnceLock<samplers::JobSamplers>,
}

impl Log {
    /// Creates a log under that name: its first 128 bytes, with control characters escaped.
    pub fn new(name: impl fmt::Display) -> Self {
        Self::with(Cow::Owned(printable(name)), StdClock)
    }

    /// Creates a log for a `static`, under that name.
    pub const fn in_static(name: &'static str) -> Self {
        Self::with(Cow::Borrowed(name), StdClock)
    }
}

impl<C> Log<C> {
    const fn with(name: Cow<'static, str>, clock: C) -> Self {
        Self {
            name,
            clock,
            rejections_every_ms: 1_000,
            failures_every_ms: 1_000,
            enforcement: None,
            sampler: Sampler::new(),
            failures: Sampler::new(),
            keys: OnceLock::new(),
            failing_keys: OnceLock::new(),
            #[cfg(feature = "steps")]
            jobs: OnceLock::new(),
        }
    }

    /// Uses another clock, which is read for each rejection and failure: a coarse one, or one that a test moves.
    pub fn clock<D: Clock>(mut self, clock: D) -> Log<D> {
        let mut log = Log::with(mem::take(&mut self.name), clock);
        log.rejections_every_ms = self.rejections_every_ms;
        log.failures_every_ms = self.failures_every_ms;
        log.enforcement = self.enforcement;
        log
    }

    /// Says where to find the enforcement of a breaker in a [`Resource`](atomic_breaker_server::Resource) that may be in
    /// shadow mode, which the breaker itself does not know. Without it, all its rejections are logged as enforced.
    ///
    /// ```
    /// use atomic_breaker_observe::Log;
    /// use atomic_breaker_server::{Breaker, Config, Guard, Resource, StdClock, word::NativeWord};
    ///
    /// type Logged = Resource<Breaker<StdClock, NativeWord, (), Log>>;
    ///
    /// static SEARCH: Logged = Resource::new(
    ///     Breaker::builder(Config::new(), StdClock)
    ///         .observer(Log::in_static("search").enforcement(|| SEARCH.enforcement()))
    ///         .build(),
    /// );
    /// assert!(SEARCH.acquire().is_ok());
    /// ```
    #[must_use]
    pub const fn enforcement(mut self, of: fn() -> &'static Enforcement) -> Self {
        self.enforcement = Some(of);
        self
    }

    /// Logs at most one rejection of a breaker or key within this time, after the first of an open period; rounded up to
    /// milliseconds. A second unless set; zero logs every rejection.
    ///
    /// # Panics
    /// If it is more than 24 days.
    #[must_use]
    pub fn rejections_every(mut self, interval: Duration) -> Self {
        self.rejections_every_ms = whole_ms(interval);
        self
    }

    /// Logs at most three failed calls of a breaker or key within this time; rounded up to milliseconds. A second unless
    /// set; zero logs every failure.
    ///
    /// # Panics
    /// If it is more than 24 days.
    #[must_use]
    pub fn failures_every(mut self, interval: Duration) -> Self {
        self.failures_every_ms = whole_ms(interval);
        self
    }
}

impl<C: Clock> Observer for Log<C> {
    #[cold]
    fn transition(&self, transition: &Transition) {
        event::transition(&self.name, None, transition, None, Some(&self.sampler));
    }

    #[cold]
    fn rejected(&self, rejected: Rejected) {
        let mode = || Mode::of(self.enforcement);
        if event::wants_calls() {
            event::rejected_call(&self.name, None, rejected, mode());
        }
        if event::wants_rejections() {
            let every_ms = self.rejections_every_ms;
            let most = Sampled::Rejections.most();
            if let Some(left_out) = self.sampler.take(self.clock.now_ms(), every_ms, most) {
                event::rejection(&self.name, None, rejected, mode(), left_out);
            }
        }
    }

    /// A slow call is a success to the one who reports it, so only the breaker knows of it.
    #[inline]
    fn outcome(&self, outcome: Outcome) {
        if let Outcome::Failure(failure) = outcome {
            if failure.is_slow() {
                self.log_failure(&FailureSeen::Slow);
            }
        }
    }

    fn failed(&self, failed: &FailedCall<'_>) {
        if !failed.failure().is_slow() {
            self.log_failure(&FailureSeen::Call(failed));
        }
    }
}

impl<C: Clock> Log<C> {
    #[cold]
    fn log_failure(&self, failed: &FailureSeen<'_>) {
        if event::wants_calls() {
            event::failed_call(&self.name, None, failed);
        }
        if event::wants_failures() {
            let (every_ms, most) = (self.failures_every_ms, Sampled::Failures.most());
            if let Some(left_out) = self.failures.take(self.clock.now_ms(), every_ms, most) {
                event::failure(&self.name, None, failed, left_out);
            }
        }
    }
}

impl<C> Drop for Log<C> {
    fn drop(&mut self) {
        event::left_out(Sampled::Rejections, &self.name, None, &self.sampler);
        event::left_out(Sampled::Failures, &self.name, None, &self.failures);
        for keys in [&self.keys, &self.failing_keys] {
            if let Some(keys) = keys.get() {
                keys.end(&self.name);
            }
        }
    }
}

impl<C> fmt::Debug for Log<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.name).finish()
    }
}
