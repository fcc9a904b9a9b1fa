//! Who is told of what happens.

use core::time::Duration;

use crate::error::Rejected;
use crate::outcome::Outcome;
use crate::state::State;

/// Is told of transitions, refusals and outcomes. `()` observes nothing and costs nothing; a pair
/// tells both; a reference forwards.
///
/// Each transition is told exactly once, by the caller whose compare-and-swap made it, after it was
/// made: on the caller's thread or in its interrupt handler, so be brief and do not block. Two
/// callers may tell two transitions in either order; the epoch says which came first.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Observer, State, Transition};
/// use core::cell::Cell;
///
/// #[derive(Default)]
/// struct Trips(Cell<u32>);
///
/// impl Observer for Trips {
///     fn transition(&self, transition: &Transition) {
///         if transition.to == State::Open {
///             self.0.set(self.0.get() + 1);
///         }
///     }
/// }
///
/// let (clock, trips) = (ManualClock::new(), Trips::default());
/// let breaker = Breaker::new(Config::new(), &clock).with_observer(&trips);
/// breaker.trip();
/// assert_eq!(trips.0.get(), 1);
/// ```
pub trait Observer {
    /// Whether anybody listens. Where nobody does, transitions are not put together at all.
    fn is_listening(&self) -> bool {
        true
    }

    /// The state changed, or a new round of probes began.
    fn transition(&self, transition: &Transition) {
        let _ = transition;
    }

    /// A call was refused.
    fn refused(&self, rejected: Rejected) {
        let _ = rejected;
    }

    /// A permit was reported. Late reports, which change nothing, are told too.
    fn outcome(&self, outcome: Outcome) {
        let _ = outcome;
    }

    /// A permit was dropped without a report.
    fn cancelled(&self) {}
}

impl Observer for () {
    #[inline]
    fn is_listening(&self) -> bool {
        false
    }
}

impl<O: Observer + ?Sized> Observer for &O {
    fn is_listening(&self) -> bool {
        (**self).is_listening()
    }

    fn transition(&self, transition: &Transition) {
        (**self).transition(transition);
    }

    fn refused(&self, rejected: Rejected) {
        (**self).refused(rejected);
    }

    fn outcome(&self, outcome: Outcome) {
        (**self).outcome(outcome);
    }

    fn cancelled(&self) {
        (**self).cancelled();
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn is_listening(&self) -> bool {
        self.0.is_listening() || self.1.is_listening()
    }

    fn transition(&self, transition: &Transition) {
        self.0.transition(transition);
        self.1.transition(transition);
    }

    fn refused(&self, rejected: Rejected) {
        self.0.refused(rejected);
        self.1.refused(rejected);
    }

    fn outcome(&self, outcome: Outcome) {
        self.0.outcome(outcome);
        self.1.outcome(outcome);
    }

    fn cancelled(&self) {
        self.0.cancelled();
        self.1.cancelled();
    }
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Transition {
    /// The state before.
    pub from: State,
    /// The state after. The same as before when a half-open breaker begins a new round of probes,
    /// when an open one is tripped again and when a closed one is reset.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// When, as the clock reads: milliseconds since its origin, modulo 2³².
    pub at_ms: u32,
    /// The epoch that begins: one more than the one before, modulo 512 (16 in a 32-bit word).
    pub epoch: u16,
    /// Trips in a row, this one included.
    pub trips: u8,
    /// When it opens: for how many milliseconds, as stored. Otherwise 0.
    pub open_for_ms: u32,
}

impl Transition {
    /// When it opens: for how long, growth, jitter, minimum and rounding included.
    pub const fn open_for(&self) -> Option<Duration> {
        match self.to {
            State::Open => Some(Duration::from_millis(self.open_for_ms as u64)),
            _ => None,
        }
    }
}

/// Why the state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum Cause {
    /// The failures counted in the word reached their limit.
    FailureLimit,
    /// The tally said so: the failure ratio reached its limit.
    FailureRatio,
    /// A failure demanded it: [`Failure::tripping`](crate::Failure::tripping).
    TripDemanded,
    /// A failure asked for a minimum open time: [`Failure::retry_after`](crate::Failure::retry_after).
    RetryAfter,
    /// The open time was over and somebody called.
    OpenTimeOver,
    /// A probe failed.
    ProbeFailed,
    /// The probes in flight did not report within their lease.
    ProbeLost,
    /// Enough probes succeeded.
    ProbesSucceeded,
    /// An operator said so.
    Manual,
    /// The word held bits that are no state; it was replaced by a fresh, closed one. `from` says
    /// closed, whatever the bits looked like.
    CorruptWord,
}
