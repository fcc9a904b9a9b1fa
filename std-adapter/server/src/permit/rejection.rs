// SPDX-License-Identifier: MIT OR Apache-2.0
//! The information that a rejected caller gets.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use atomic_breaker::{CallError, Rejected, State, Wait};

use crate::printable::without_lines;

/// The failure that opened a breaker: a few words, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// The event, in a few words on one line, without secrets: `503 Service Unavailable`.
    pub text: Box<str>,
    /// The time of the failure, in wall-clock time.
    pub at: SystemTime,
}

impl LastFailure {
    /// A failure that has just happened. The text is kept, with line ends and control characters escaped, and shown to other
    /// callers: shorten it, and leave out what may be secret. A `Resource` and a `Registry` do that.
    pub fn now(text: impl Into<Box<str>>) -> Self {
        Self {
            text: without_lines(text.into()),
            at: SystemTime::now(),
        }
    }
}

impl fmt::Display for LastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A rejected call: how long to wait, and the failure that opened the breaker, if it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// The state, and how long to wait.
    pub rejected: Rejected,
    /// The failure that opened the breaker, if it is kept; `None` if a command opened it. If no breaker was
    /// [asked](Self::is_without_key), the reason.
    pub last_failure: Option<Arc<LastFailure>>,
    kind: Kind,
}

/// The part that rejected the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Breaker,
    /// No breaker could be chosen; the words are those of the failure.
    NoKey,
    /// A limit of so many calls in flight.
    Limit(u32),
}

impl Rejection {
    /// A rejection by a breaker that opened because of this failure, if it is known.
    pub const fn new(rejected: Rejected, last_failure: Option<Arc<LastFailure>>) -> Self {
        Self {
            rejected,
            last_failure,
            kind: Kind::Breaker,
        }
    }

    /// The time to wait: [`Rejected::wait`].
    pub const fn wait(&self) -> Wait {
        self.rejected.wait()
    }

    /// Finds the rejection that caused an error: the error itself, or the first in its chain of sources that is a
    /// rejection. A rejection [without a key](Self::is_without_key) is a mistake by the caller and is not found.
    ///
    /// ```
    /// use atomic_breaker_server::{CallError, Config, Rejection, breaker};
    /// use std::io;
    ///
    /// let server = breaker(Config::new());
    /// server.trip();
    /// let error: CallError<io::Error> = server.call(|| Ok::<(), _>(())).unwrap_err();
    /// let error = io::Error::other(error);
    /// let rejection = Rejection::in_chain(&error).expect("a rejection");
    /// assert!(rejection.retry_in().is_some());
    /// // A text that looks like one is none: it may be that of an upstream which runs this crate.
    /// assert!(Rejection::in_chain(&io::Error::other(rejection.to_string())).is_none());
    /// ```
    pub fn in_chain(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut link = Some(error);
        // More links than a chain has, but few enough not to take long.
        for _ in 0..64 {
            let error = link?;
            if let Some(rejection) = error.downcast_ref::<Self>() {
                return (!rejection.is_without_key()).then(|| rejection.clone());
            }
            if let Some(&rejected) = error.downcast_ref::<Rejected>() {
                return Some(rejected.into());
            }
            // An error inside an `io::Error` is not its source.
            let inner = error.downcast_ref().and_then(io::Error::get_ref);
            link = match inner {
                Some(inner) => Some(inner),
                None => error.source(),
            };
        }
        None
    }

    /// The time after which a retry is worthwhile: [`Rejected::retry_in`].
    pub const fn retry_in(&self) -> Option<Duration> {
        self.rejected.retry_in()
    }

    /// The rejection of a request that does not say which breaker to ask, such as one without a host: rejected as if by
    /// a breaker that is forced open, because waiting does not help. The message says what to do.
    pub fn without_key(message: &'static str) -> Self {
        Self {
            rejected: Rejected::new(State::ForcedOpen, Duration::ZERO),
            last_failure: Some(Arc::new(LastFailure::now(message))),
            kind: Kind::NoKey,
        }
    }

    /// Returns whether no breaker was asked because the request does not name one. This is a mistake in the program,
    /// not in the resource: waiting does not help, [`state`](Self::state) is [`State::ForcedOpen`], and the message
    /// says what to do.
    pub const fn is_without_key(&self) -> bool {
        matches!(self.kind, Kind::NoKey)
    }

    /// The rejection of a call that would be one too many in flight, by a limit of so many.
    pub(crate) const fn over_limit(most: u32) -> Self {
        Self {
            // A place may be free at any moment.
            rejected: Rejected::new(State::Closed, Duration::from_millis(100)),
            last_failure: None,
            kind: Kind::Limit(most),
        }
    }

    /// Returns whether as many calls were in flight as an [`InFlightLimit`](crate::InFlightLimit) allows. The resource may be
    /// well: [`state`](Self::state) is [`State::Closed`], and a call may end soon.
    pub const fn is_over_limit(&self) -> bool {
        matches!(self.kind, Kind::Limit(_))
    }

    /// The state that rejected.
    pub const fn state(&self) -> State {
        self.rejected.state()
    }
}

impl From<Rejected> for Rejection {
    fn from(rejected: Rejected) -> Self {
        Self::new(rejected, None)
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failure = self.last_failure.as_ref();
        match (self.kind, failure) {
            (Kind::NoKey, Some(reason)) => return reason.fmt(f),
            (Kind::Limit(most), _) => {
                return write!(f, "{most} calls are in flight, as many as are allowed");
            }
            _ => {}
        }
        self.rejected.fmt(f)?;
        match failure {
            Some(failure) => write!(f, " (last failure: {failure})"),
            None => Ok(()),
        }
    }
}

impl Error for Rejection {}

/// The reason why a guarded service gave no response: rejected with the [failure](LastFailure) that opened the breaker
/// (outside a retry: the last try was not made), or failed.
///
/// [`merge`](CallError::merge) lets a stack continue around a breaker over services that return a `BoxError`, as tower's
/// own timeout and buffer do; to check for a rejection, use `error.is::<Rejection>()`:
///
/// ```
/// use atomic_breaker_server::{Config, Rejection, ServiceError, breaker};
/// use std::error::Error;
///
/// type BoxError = Box<dyn Error + Send + Sync>;
///
/// let payments = breaker(Config::new());
/// payments.trip();
/// // What a layer returns; above it stands `.map_err(ServiceError::merge)`.
/// let error = ServiceError::<BoxError>::Rejected(payments.acquire().unwrap_err().into());
/// let error: BoxError = error.merge();
/// assert!(error.is::<Rejection>());
/// ```
pub type ServiceError<E> = CallError<E, Rejection>;
