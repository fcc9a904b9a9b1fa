//! Counts what happens to one breaker.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use atomic_breaker_server::{Enforcement, Observer, Outcome, Present, Rejected, State, Transition};

use super::calls::{CANCELLED, end_of};
use super::meter::{Meter, OfBreakers, Standing};
use super::{Metrics, Observed};
use crate::label::Mode;
use crate::lock;

/// [`Metrics`] of one breaker.
pub struct One {
    name: &'static str,
    counted: OnceLock<Counted>,
    enforcement: Option<fn() -> &'static Enforcement>,
}

/// Where the breaker is counted.
struct Counted {
    meter: Arc<Meter>,
    all: Arc<OfBreakers>,
    /// What the gauges show.
    shown: Mutex<Standing>,
}

impl Metrics {
    /// The same as [`new`](Self::new) for a `static`: published from the first call on, or once it is
    /// [registered](Self::register).
    pub const fn in_static(name: &'static str) -> Self {
        Self(One {
            name,
            counted: OnceLock::new(),
            enforcement: None,
        })
    }

    /// Publishes the metrics from now on: when the program starts, so that there is a zero to begin with.
    pub fn register(&self) {
        self.0.counted();
    }

    /// Says where to find the enforcement of a breaker in a [`Resource`](atomic_breaker_server::Resource) that may be in
    /// shadow mode, which the breaker itself does not know; `Log` has the same setting. Without it, all rejections count
    /// as enforced.
    #[must_use]
    pub const fn enforcement(mut self, of: fn() -> &'static Enforcement) -> Self {
        self.0.enforcement = Some(of);
        self
    }
}

impl Observed for One {
    fn named(name: &dyn fmt::Display) -> Self {
        Self {
            counted: OnceLock::from(Counted::of(name)),
            ..Metrics::in_static("").0
        }
    }
}

impl One {
    #[inline]
    fn counted(&self) -> &Counted {
        self.counted.get_or_init(|| Counted::of(self.name))
    }
}

impl Observer for Metrics {
    #[cold]
    fn transition(&self, transition: &Transition) {
        self.0.counted().count(transition, || transition.to);
    }

    #[cold]
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.0.counted().count(transition, || present.state());
    }

    #[cold]
    fn rejected(&self, _: Rejected) {
        let mode = Mode::of(self.0.enforcement);
        self.0.counted().all.rejections[mode as usize].add();
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        self.0.counted().all.calls.add(end_of(outcome));
    }

    #[inline]
    fn cancelled(&self) {
        self.0.counted().all.calls.add(CANCELLED);
    }
}

impl Counted {
    fn of(name: impl fmt::Display) -> Self {
        let meter = Meter::of(name);
        meter.move_breaker(None, Some(Standing::UP));
        Self {
            all: meter.of_breakers(),
            meter,
            shown: Mutex::new(Standing::UP),
        }
    }

    /// Two threads may report two transitions in either order, so the state is read under the lock: the thread that
    /// reports last has read it after everything that was reported.
    fn count(&self, transition: &Transition, state: impl FnOnce() -> State) {
        let (to, cause) = (transition.to, transition.cause);
        self.meter.transitions(to, cause).add();
        let mut shown = lock(&self.shown);
        let to = shown.then(state());
        let from = std::mem::replace(&mut *shown, to);
        self.meter.move_breaker(Some(from), Some(to));
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.meter.move_breaker(Some(*lock(&self.shown)), None);
    }
}

impl fmt::Debug for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.counted.get().map_or(self.name, |it| &it.meter.name);
        f.debug_tuple("One").field(&name).finish()
    }
}
