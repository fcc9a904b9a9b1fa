//! Counts what happens to one breaker.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use atomic_breaker::{Observer, Outcome, Present, Rejected, State, Transition};

use super::counts::End;
use super::meter::Meter;
use super::text::Mode;
use crate::Enforcement;

/// Counts the calls, rejections and transitions of a breaker for the `metrics` facade, and shows its state.
///
/// The counts reach the recorder through [`publish`](super::publish()), so that a call costs no more than one addition
/// to memory that no other thread writes:
///
/// ```
/// use atomic_breaker_std::observe::{self, BreakerMetrics};
/// use atomic_breaker_std::{Breaker, Config, StdClock};
/// use metrics_exporter_prometheus::PrometheusBuilder;
///
/// let recorder = PrometheusBuilder::new().build_recorder();
/// let prometheus = recorder.handle();
/// metrics::set_global_recorder(recorder).expect("the only one");
///
/// let payments = Breaker::builder(Config::new(), StdClock)
///     .observer(BreakerMetrics::new("payments"))
///     .build();
/// payments.trip();
///
/// // For each scrape:
/// observe::publish();
/// let page = prometheus.render();
/// let open = r#"circuit_breaker_breakers{circuit_breaker_name="payments",circuit_breaker_state="open"} 1"#;
/// assert!(page.contains(open));
/// ```
///
/// Create one for each breaker. Several with the same name are counted together, even one after another: counters
/// continue, and the gauge of the states says how many breakers of that name are in each state. The state is the one in
/// the word when the last transition was made through this breaker, and closed before the first; later changes by other
/// processes that share the word are not seen.
pub struct BreakerMetrics {
    name: &'static str,
    counted: OnceLock<Counted>,
    enforcement: Option<fn() -> &'static Enforcement>,
}

impl BreakerMetrics {
    /// Creates the metrics of the breaker of that name: its first 128 bytes, with control characters escaped. They are
    /// published from now on, at zero before anything happens. Each name takes 17 KB; the first 1,000 are kept apart,
    /// further ones are named `other`.
    pub fn new(name: impl fmt::Display) -> Self {
        let metrics = Self::in_static("");
        metrics.counted.get_or_init(|| Counted::of(name));
        metrics
    }

    /// The same for a `static`: published from the first call on, or once it is [registered](Self::register).
    ///
    /// ```
    /// use atomic_breaker_std::observe::BreakerMetrics;
    /// use atomic_breaker_std::{Breaker, Config, StdClock, word::NativeWord};
    ///
    /// static PAYMENTS: Breaker<StdClock, NativeWord, (), BreakerMetrics> = Breaker::builder(Config::new(), StdClock)
    ///     .observer(BreakerMetrics::in_static("payments"))
    ///     .build();
    ///
    /// // When the program starts, so that there is a zero to begin with:
    /// PAYMENTS.observer().register();
    /// ```
    pub const fn in_static(name: &'static str) -> Self {
        Self {
            name,
            counted: OnceLock::new(),
            enforcement: None,
        }
    }

    /// Publishes the metrics from now on.
    pub fn register(&self) {
        self.counted();
    }

    /// Says where to find the enforcement of a breaker in a [`Resource`](crate::Resource) that may be in shadow mode,
    /// which the breaker itself does not know; [`BreakerLog`](super::BreakerLog) has the same setting. Without it, all
    /// rejections count as enforced.
    #[must_use]
    pub const fn enforcement(mut self, of: fn() -> &'static Enforcement) -> Self {
        self.enforcement = Some(of);
        self
    }

    fn mode(&self) -> Mode {
        if let Some(enforcement) = self.enforcement {
            return Mode::of_percent(enforcement().percent());
        }
        Mode::Enforced
    }

    #[inline]
    fn counted(&self) -> &Counted {
        match self.counted.get() {
            Some(counted) => counted,
            None => self.begin(),
        }
    }

    #[cold]
    fn begin(&self) -> &Counted {
        self.counted.get_or_init(|| Counted::of(self.name))
    }
}

impl Observer for BreakerMetrics {
    #[cold]
    fn transition(&self, transition: &Transition) {
        let counted = self.counted();
        counted.meter.count_transition(transition);
        counted.note(|| transition.to);
    }

    #[cold]
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        let counted = self.counted();
        counted.meter.count_transition(transition);
        counted.note(|| present.state());
    }

    #[cold]
    fn rejected(&self, _: Rejected) {
        self.counted().meter.count_rejection(self.mode());
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        self.counted().meter.counts.add(End::of(outcome));
    }

    #[inline]
    fn cancelled(&self) {
        self.counted().meter.counts.add(End::Cancelled);
    }
}

impl fmt::Debug for BreakerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .counted
            .get()
            .map_or(self.name, |counted| &counted.meter.name);
        f.debug_struct("BreakerMetrics")
            .field("name", &name)
            .finish_non_exhaustive()
    }
}

/// One breaker, and where it is counted.
#[derive(Debug)]
struct Counted {
    meter: Arc<Meter>,
    /// The state that the gauge shows.
    shown: Mutex<State>,
}

impl Counted {
    fn of(name: impl fmt::Display) -> Self {
        let meter = Meter::of(name);
        meter.move_breaker(None, Some(State::Closed));
        Self {
            meter,
            shown: Mutex::new(State::Closed),
        }
    }

    /// Two threads may report two transitions in either order, so the state is read under the lock: the thread that
    /// reports last has read it after everything that was reported.
    fn note(&self, state: impl FnOnce() -> State) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let to = state();
        let from = std::mem::replace(&mut *shown, to);
        self.meter.move_breaker(Some(from), Some(to));
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let shown = self.shown.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.meter.move_breaker(Some(*shown), None);
    }
}
