//! The observer that logs.

mod event;
#[cfg(feature = "steps")]
mod jobs;
mod keys;
mod sampler;
mod samplers;

use std::borrow::Cow;
use std::fmt;
use std::mem;
use std::sync::OnceLock;
use std::time::Duration;

use atomic_breaker_server::{
    Clock, Enforcement, Observer, Rejected, StdClock, Transition, redact::printable,
};

use crate::label::Mode;
use sampler::{Sampler, whole_ms};
use samplers::KeySamplers;

/// Logs the transitions of a breaker, or of all keys of a registry, and a sample of the rejections, as events of
/// `tracing`; with the feature `steps` also what an operator must know of durable jobs.
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
/// Transitions have the target `atomic_breaker::transition`; the level is `WARN` for those to open and forced open and
/// for a word that was corrupt, otherwise `INFO`. Rejections have the target `atomic_breaker::rejection` and the level
/// `INFO`; the first of each open period is logged, then at most one per second. The number left out is stated in the
/// next event of this breaker or key, or when the log is dropped; while rejections are filtered out, they are not counted.
///
/// A key is logged with its `Display` text. It may come from outside: the first 128 bytes are logged, with control
/// characters escaped. Up to 1,024 keys that reject are sampled individually; beyond that, keys that have been silent for
/// ten intervals make room, and the rest are sampled together under the key `other`.
///
/// Use one log per breaker or registry: the rejections of several breakers would be sampled together. `C` is the clock
/// for the sampling.
pub struct Log<C = StdClock> {
    name: Cow<'static, str>,
    clock: C,
    every_ms: u32,
    enforcement: Option<fn() -> &'static Enforcement>,
    /// Selects rejections of a single breaker.
    sampler: Sampler,
    /// Selects rejections of the keys of a registry.
    keys: OnceLock<KeySamplers>,
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
            every_ms: 1_000,
            enforcement: None,
            sampler: Sampler::new(),
            keys: OnceLock::new(),
            #[cfg(feature = "steps")]
            jobs: OnceLock::new(),
        }
    }

    /// Uses another clock, which is read for each rejection: a coarse one, or one that a test moves.
    pub fn clock<D: Clock>(mut self, clock: D) -> Log<D> {
        let mut log = Log::with(mem::take(&mut self.name), clock);
        (log.every_ms, log.enforcement) = (self.every_ms, self.enforcement);
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
        self.every_ms = whole_ms(interval);
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
        if !event::wants_rejections() {
            return;
        }
        if let Some(left_out) = self.sampler.take(self.clock.now_ms(), self.every_ms, 1) {
            let mode = Mode::of(self.enforcement);
            event::rejection(&self.name, None, rejected, mode, left_out);
        }
    }
}

impl<C> Drop for Log<C> {
    fn drop(&mut self) {
        event::left_out(&self.name, None, &self.sampler);
        if let Some(keys) = self.keys.get() {
            keys.end(&self.name);
        }
    }
}

impl<C> fmt::Debug for Log<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.name).finish()
    }
}
