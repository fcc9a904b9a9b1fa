// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts what happens to one breaker.

use std::fmt;
use std::sync::{Arc, OnceLock};

use atomic_breaker_server::{Enforcement, State, Transition};

use super::breakers::BreakerCounts;
use super::down::Standing;

/// The targets of [`Metrics`](super::Metrics): [`OfBreaker`](super::OfBreaker), [`OfKeys`](super::OfKeys), with the
/// feature `steps` `OfJobs`, and with `fleet` `OfFleet`. The use of the metrics decides which of them it is.
pub trait Observed {
    #[doc(hidden)]
    fn named(name: &dyn fmt::Display) -> Self;
}

/// The default target of [`Metrics`](super::Metrics): a single breaker.
pub struct OfBreaker {
    name: &'static str,
    counted: OnceLock<CountedBreaker>,
    pub(super) enforcement: Option<fn() -> &'static Enforcement>,
}

/// The counts of one breaker.
pub(super) struct CountedBreaker {
    pub(super) all: &'static BreakerCounts,
    /// The state that the gauges show.
    standing: Arc<Standing>,
}

impl OfBreaker {
    pub(super) const fn in_static(name: &'static str) -> Self {
        Self {
            name,
            counted: OnceLock::new(),
            enforcement: None,
        }
    }

    #[inline]
    pub(super) fn counted(&self) -> &CountedBreaker {
        self.counted.get_or_init(|| CountedBreaker::of(self.name))
    }
}

impl Observed for OfBreaker {
    fn named(name: &dyn fmt::Display) -> Self {
        Self {
            counted: OnceLock::from(CountedBreaker::of(name)),
            ..Self::in_static("")
        }
    }
}

impl CountedBreaker {
    fn of(name: impl fmt::Display) -> Self {
        let all = BreakerCounts::of(name);
        let standing = all.watch_single();
        Self { all, standing }
    }

    pub(super) fn look_up(&self, state: impl Fn() -> Option<State> + Send + Sync + 'static) {
        self.all.look_up(&self.standing, state);
    }

    pub(super) fn count(&self, transition: &Transition, state: impl FnOnce() -> State) {
        self.all.count(transition);
        self.standing.note_after(transition, state);
    }
}

impl Drop for CountedBreaker {
    fn drop(&mut self) {
        self.all.unwatch(Arc::as_ptr(&self.standing).addr());
    }
}

impl fmt::Debug for OfBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .counted
            .get()
            .map_or(self.name, |it| &it.all.meter.name);
        f.debug_tuple("OfBreaker").field(&name).finish()
    }
}
