//! The [`atomic-breaker`](atomic_breaker) circuit breaker with the monotonic clock of `std`.
//!
//! ```
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! use std::{net::TcpStream, time::Duration};
//!
//! static DATABASE: Breaker = breaker(
//!     Config::new()
//!         .consecutive_failures(5)
//!         .open_for(Duration::from_secs(1))
//!         .exponential(2, Duration::from_secs(60))
//!         .jitter_percent(20),
//! );
//!
//! let connection = DATABASE.call(|| TcpStream::connect("127.0.0.1:1"));
//! assert!(connection.is_err());
//! ```
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
#![forbid(unsafe_code)]

mod clock;
#[cfg(feature = "coarse")]
mod coarse;

#[doc(no_inline)]
pub use atomic_breaker::{
    AnyError, CallError, Cause, Classify, Clock, Config, ConfigError, CorruptWord, Failure,
    Fallback, LastCalls, ManualClock, Observer, Outcome, Permit, Rejected, Snapshot, State, Tally,
    Token, Transition, word,
};
pub use clock::StdClock;
#[cfg(feature = "coarse")]
pub use coarse::CoarseClock;

/// A breaker with the clock of `std`, and, if wanted, a tally, an observer, another clock.
pub type Breaker<T = (), O = (), C = StdClock> = atomic_breaker::Breaker<C, word::NativeWord, T, O>;

/// A closed breaker, for a `static`, a field or an `Arc`.
///
/// # Panics
/// At compile time in a `static` or `const`: when the configuration does not fit the word. For
/// configurations that are not known to be right there is [`try_breaker`].
///
/// ```
/// use atomic_breaker_std::{Breaker, Config, breaker};
///
/// static PAYMENTS: Breaker = breaker(Config::new());
/// assert_eq!(PAYMENTS.call(|| Ok::<_, ()>("paid")), Ok("paid"));
/// ```
pub const fn breaker(config: Config) -> Breaker {
    Breaker::new(config, StdClock)
}

/// [`breaker`] for configurations that are not known to be right.
///
/// # Errors
/// [`ConfigError`] says which setting does not fit the word, and what to do.
pub fn try_breaker(config: Config) -> Result<Breaker, ConfigError> {
    Breaker::try_new(config, StdClock)
}
