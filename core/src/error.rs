//! What can go wrong: a call was refused, a call failed, a word is no state.

use core::fmt;
use core::time::Duration;

use crate::state::State;

/// A call that was refused, and how long to wait.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock};
/// use core::time::Duration;
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new().open_for(Duration::from_millis(4_200)), &clock);
/// breaker.trip();
///
/// let refused = breaker.acquire().unwrap_err();
/// assert_eq!(refused.retry_in(), Some(Duration::from_millis(4_200)));
/// assert_eq!(refused.to_string(), "circuit breaker is open, retry in 4.2s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Rejected {
    state: State,
    retry_in_ms: u32,
}

impl Rejected {
    pub(crate) const fn new(state: State, retry_in_ms: u32) -> Self {
        Self { state, retry_in_ms }
    }

    /// The state that refused: open, half-open with every slot taken, or forced open.
    pub const fn state(self) -> State {
        self.state
    }

    /// How long to wait; `None` while the breaker is forced open, as nobody knows.
    ///
    /// Open: at exactly this time from now the next call is a probe. Half-open: the slots are taken
    /// back at the latest then; a probe that reports frees one sooner.
    pub const fn retry_in(self) -> Option<Duration> {
        match self.retry_in_ms() {
            Some(ms) => Some(Duration::from_millis(ms as u64)),
            None => None,
        }
    }

    /// [`retry_in`](Self::retry_in) in milliseconds, without the division that a `Duration` costs.
    pub const fn retry_in_ms(self) -> Option<u32> {
        match self.state {
            State::ForcedOpen => None,
            _ => Some(self.retry_in_ms),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.state, self.retry_in()) {
            (state, Some(time)) => write!(f, "circuit breaker is {state}, retry in {time:?}"),
            (state, None) => write!(f, "circuit breaker is {state}, until it is released"),
        }
    }
}

impl core::error::Error for Rejected {}

/// Why a guarded call gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CallError<E> {
    /// The breaker refused; the operation was not run.
    Rejected(Rejected),
    /// The operation ran and failed.
    Failed(E),
}

impl<E> CallError<E> {
    /// The refusal, if it was one.
    pub const fn rejected(&self) -> Option<Rejected> {
        match self {
            Self::Rejected(rejected) => Some(*rejected),
            Self::Failed(_) => None,
        }
    }

    /// The error of the operation, if it ran.
    pub fn failed(self) -> Option<E> {
        match self {
            Self::Rejected(_) => None,
            Self::Failed(error) => Some(error),
        }
    }
}

impl<E> From<Rejected> for CallError<E> {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for CallError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Rejected(_) => None,
            // `Display` shows the operation's error itself, so the chain goes on below it.
            Self::Failed(error) => error.source(),
        }
    }
}

/// A word whose bits are no state that a breaker can be in.
///
/// Met where a word comes from outside. [`Breaker::from_bits`](crate::Breaker::from_bits),
/// [`Breaker::check`](crate::Breaker::check) and [`Bits::check`](crate::word::Bits::check) report
/// it; a breaker in use replaces such a word by a fresh, closed one and tells its observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CorruptWord {
    bits: u64,
    fault: Fault,
}

/// Which rule of the layout the bits break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) enum Fault {
    ClosedWithTrips,
    WindowWithoutFailures,
    OpenWithoutTrips,
    OpenTooLong,
    NotHeld,
}

impl CorruptWord {
    pub(crate) const fn new(bits: u64, fault: Fault) -> Self {
        Self { bits, fault }
    }

    /// The bits that were found.
    pub const fn bits(self) -> u64 {
        self.bits
    }
}

impl fmt::Display for CorruptWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::ClosedWithTrips => "it is closed, yet counts trips",
            Fault::WindowWithoutFailures => "it has a window of failures, but no failure",
            Fault::OpenWithoutTrips => "it is open, yet never tripped",
            Fault::OpenTooLong => "its open time is longer than any breaker sets",
            Fault::NotHeld => "it is neither forced open nor disabled",
        };
        let bits = self.bits;
        write!(
            f,
            "{bits:#x} is not the state of a circuit breaker: {fault}; start from 0, a closed \
             breaker"
        )
    }
}

impl core::error::Error for CorruptWord {}
