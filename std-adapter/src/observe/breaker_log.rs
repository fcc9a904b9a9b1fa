//! Logs what happens to one breaker.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use atomic_breaker::{Clock, Observer, Rejected, State, Transition};

use super::event::{self, Whose};
use super::sampler::{Sampler, whole_ms};
use super::text::Mode;
use crate::Enforcement;
use crate::StdClock;
use crate::words::printable;

/// Logs the transitions of a breaker, and a sample of its rejections, as events of `tracing`.
///
/// ```
/// use atomic_breaker_std::observe::BreakerLog;
/// use atomic_breaker_std::{Breaker, Config, StdClock, word::NativeWord};
///
/// static PAYMENTS: Breaker<StdClock, NativeWord, (), BreakerLog> =
///     Breaker::builder(Config::new(), StdClock).observer(BreakerLog::new("payments")).build();
///
/// PAYMENTS.trip();
/// // WARN atomic_breaker::transition: closed -> open: by command, for 5s circuit_breaker.name="payments" ..
/// ```
///
/// Transitions have the target `atomic_breaker::transition`; the level is `WARN` for those to open and forced open and
/// for a word that was corrupt, otherwise `INFO`. Rejections have the target `atomic_breaker::rejection` and the level
/// `INFO`; the first of each open period is logged, then at most one per second. The number left out is stated in the
/// next event of this breaker, or when the log is dropped; while rejections are filtered out, they are not counted.
///
/// Use one log per breaker: the rejections of several would be sampled together. `C` is the clock for the sampling.
#[derive(Debug)]
pub struct BreakerLog<C = StdClock> {
    name: Cow<'static, str>,
    clock: C,
    every_ms: u32,
    enforcement: Option<fn() -> &'static Enforcement>,
    sampler: Sampler,
}

impl BreakerLog {
    /// Creates a log for the breaker of that name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            clock: StdClock,
            every_ms: 1_000,
            enforcement: None,
            sampler: Sampler::new(),
        }
    }

    /// The same for a name that is known only at run time: its first 128 bytes, with control characters escaped.
    pub fn of(name: impl fmt::Display) -> Self {
        let mut log = Self::new("");
        log.name = Cow::Owned(printable(name));
        log
    }
}

impl<C> BreakerLog<C> {
    /// Uses another clock, which is read for each rejection: a coarse one, or one that a test moves.
    pub fn clock<D: Clock>(self, clock: D) -> BreakerLog<D> {
        BreakerLog {
            name: self.name.clone(),
            clock,
            every_ms: self.every_ms,
            enforcement: self.enforcement,
            sampler: Sampler::new(),
        }
    }

    /// Says where to find the enforcement of a breaker in a [`Resource`](crate::Resource) that may be in shadow mode,
    /// which the breaker itself does not know. Without it, all rejections are logged as enforced.
    ///
    /// ```
    /// use atomic_breaker_std::observe::BreakerLog;
    /// use atomic_breaker_std::{Breaker, Config, Resource, StdClock, word::NativeWord};
    ///
    /// type Logged = Resource<Breaker<StdClock, NativeWord, (), BreakerLog>>;
    ///
    /// static SEARCH: Logged = Resource::new(
    ///     Breaker::builder(Config::new(), StdClock)
    ///         .observer(BreakerLog::new("search").enforcement(|| SEARCH.enforcement()))
    ///         .build(),
    /// );
    /// assert!(SEARCH.acquire().is_ok());
    /// ```
    #[must_use]
    pub const fn enforcement(mut self, of: fn() -> &'static Enforcement) -> Self {
        self.enforcement = Some(of);
        self
    }

    /// Logs at most one rejection within this time, after the first of an open period; rounded up to milliseconds. A
    /// second unless set; zero logs every rejection.
    ///
    /// # Panics
    /// If it is more than 24 days.
    #[must_use]
    pub fn rejections_every(mut self, interval: Duration) -> Self {
        self.every_ms = whole_ms(interval);
        self
    }

    fn mode(&self) -> Mode {
        if let Some(enforcement) = self.enforcement {
            return Mode::of_percent(enforcement().percent());
        }
        Mode::Enforced
    }

    fn whose(&self) -> Whose<'_> {
        Whose {
            name: &self.name,
            key: None,
        }
    }
}

impl<C: Clock> Observer for BreakerLog<C> {
    #[cold]
    fn transition(&self, transition: &Transition) {
        if matches!(transition.to, State::Open | State::ForcedOpen) {
            self.sampler.begin();
        }
        if event::wants_transition(transition) {
            let left_out = self.sampler.take_left_out();
            event::transition(self.whose(), transition, None, left_out);
        }
    }

    #[cold]
    fn rejected(&self, rejected: Rejected) {
        if !event::wants_rejections() {
            return;
        }
        if let Some(left_out) = self.sampler.reject(self.clock.now_ms(), self.every_ms) {
            let mode = self.mode();
            event::rejection(self.whose(), rejected, mode, left_out);
        }
    }
}

impl<C> Drop for BreakerLog<C> {
    fn drop(&mut self) {
        event::left_out(self.whose(), self.sampler.take_left_out());
    }
}
