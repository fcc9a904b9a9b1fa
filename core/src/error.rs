// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors of a breaker: a call was rejected, a call failed, a word holds an invalid state.

use core::fmt;
use core::time::Duration;

use crate::number::{ms, time_of};
use crate::state::State;

/// The time that a rejected caller has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Wait {
    /// Open: at exactly this time from now the next call is a probe (unless a longer time is demanded meanwhile).
    For(Duration),
    /// Half-open or returning: at most this long. While half-open, a slot may become free at any moment: retry soon, and
    /// not in step with others. While returning, some calls pass at any time: there is no hurry.
    AtMost(Duration),
    /// Forced open: until an operator releases the breaker.
    UntilReleased,
}

/// A caller that is to retry soon does so after this time at the latest.
const SOON_MS: u32 = 100;

/// A call that was rejected, and how long to wait.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Wait};
/// use core::time::Duration;
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new().open_for(Duration::from_millis(4_200)), &clock);
/// breaker.trip();
///
/// let rejected = breaker.acquire().unwrap_err();
/// assert_eq!(rejected.wait(), Wait::For(Duration::from_millis(4_200)));
/// assert_eq!(rejected.to_string(), "circuit breaker is open, retry in 4.2s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
#[doc(alias = "call not permitted")]
pub struct Rejected {
    state: State,
    wait_ms: u32,
}

impl Rejected {
    /// A rejection, for tests of code that handles it. `wait` is what a breaker in that state would say,
    /// rounded up to milliseconds; it is ignored for [`State::ForcedOpen`].
    pub const fn new(state: State, wait: Duration) -> Self {
        match state {
            State::ForcedOpen => Self::until(state, 0),
            _ => Self::until(state, ms(wait)),
        }
    }

    pub(crate) const fn until(state: State, wait_ms: u32) -> Self {
        Self { state, wait_ms }
    }

    /// The state in which the call was rejected: open, half-open with every slot taken, returning, or
    /// forced open.
    pub const fn state(self) -> State {
        self.state
    }

    /// The time to wait: exact, at most, or until an operator acts.
    pub const fn wait(self) -> Wait {
        let time = Duration::from_millis(self.wait_ms as u64);
        match self.state {
            State::ForcedOpen => Wait::UntilReleased,
            State::HalfOpen | State::Returning => Wait::AtMost(time),
            State::Open | State::Closed | State::Disabled => Wait::For(time),
        }
    }

    /// The time after which a retry is worthwhile; `None` while the breaker is forced open, because the time is
    /// unknown.
    ///
    /// Open: at exactly this time from now the next call is a probe. Half-open: soon, after 100 ms at
    /// most, as a slot may be free at any moment; [`wait`](Self::wait) says how long that can go on.
    /// Returning: after half the time that is left until all calls pass, so that rejected callers do not
    /// speed up the return. Add jitter if many callers wait.
    pub const fn retry_in(self) -> Option<Duration> {
        time_of(self.retry_in_ms())
    }

    /// [`retry_in`](Self::retry_in) in milliseconds, without the division that a `Duration` costs.
    pub const fn retry_in_ms(self) -> Option<u32> {
        let ms = match self.state {
            State::ForcedOpen => return None,
            State::HalfOpen if self.wait_ms > SOON_MS => SOON_MS,
            // An earlier retry would only add one more call, of which a share passes.
            State::Returning => self.wait_ms.div_ceil(2),
            // All the others: `wait` lists them.
            _ => self.wait_ms,
        };
        Some(ms)
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state;
        match self.wait() {
            Wait::For(time) => write!(f, "circuit breaker is {state}, retry in {time:?}"),
            Wait::AtMost(time) if state == State::Returning => {
                write!(
                    f,
                    "circuit breaker is {state}, all calls pass within {time:?}"
                )
            }
            Wait::AtMost(time) => {
                write!(
                    f,
                    "circuit breaker is {state}: a probe is under way, retry soon, in {time:?} at the latest"
                )
            }
            Wait::UntilReleased => {
                write!(f, "circuit breaker is {state}, until it is released")
            }
        }
    }
}

impl core::error::Error for Rejected {}

/// The reason why a guarded call returned no value. `R` describes a rejection: [`Rejected`], or more where more than
/// the breaker itself is asked, as on servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CallError<E, R = Rejected> {
    /// The breaker rejected the call; the operation was not run.
    Rejected(R),
    /// The operation ran and failed.
    Failed(E),
}

impl<E, R> CallError<E, R> {
    /// The rejection, if it was one.
    pub const fn rejected(&self) -> Option<&R> {
        match self {
            Self::Rejected(rejected) => Some(rejected),
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

    /// Makes one error of both cases, if the operation's error can be made from a rejection: `anyhow::Error`,
    /// `Box<dyn Error>`, or your own error with a variant for it: `breaker.call(f).map_err(CallError::merge)?`.
    pub fn merge(self) -> E
    where
        E: From<R>,
    {
        match self {
            Self::Rejected(rejected) => rejected.into(),
            Self::Failed(error) => error,
        }
    }
}

impl<E, R> From<R> for CallError<E, R> {
    fn from(rejected: R) -> Self {
        Self::Rejected(rejected)
    }
}

impl<E: fmt::Display, R: fmt::Display> fmt::Display for CallError<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E, R> core::error::Error for CallError<E, R>
where
    E: core::error::Error,
    R: core::error::Error + 'static,
{
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // `Display` shows it, too, but code that walks the chain of errors finds it here, whatever
            // `E` is.
            Self::Rejected(rejected) => Some(rejected),
            // `Display` shows the operation's error itself, so the chain goes on below it.
            Self::Failed(error) => error.source(),
        }
    }
}

/// A word that holds an invalid state: no breaker leaves such bits behind.
///
/// This can happen if a word comes from outside. [`Breaker::check`](crate::Breaker::check),
/// [`Breaker::restore`](crate::Breaker::restore) and [`Bits::check`](crate::word::Bits::check) report it; a breaker in
/// use replaces such a word with a fresh, closed one and notifies its observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CorruptWord {
    bits: u64,
    fault: &'static str,
}

impl CorruptWord {
    pub(crate) const fn new(bits: u64, fault: &'static str) -> Self {
        Self { bits, fault }
    }

    /// The bits that were found.
    pub const fn bits(self) -> u64 {
        self.bits
    }
}

impl fmt::Display for CorruptWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bits, fault } = self;
        write!(
            f,
            "{bits:#x} is not the state of a circuit breaker: {fault}; start from 0, a closed \
             breaker"
        )
    }
}

impl core::error::Error for CorruptWord {}
