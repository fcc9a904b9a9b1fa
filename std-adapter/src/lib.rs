// SPDX-License-Identifier: MIT OR Apache-2.0
//! The [`atomic-breaker`](atomic_breaker) circuit breaker with the clocks of an operating system.
//!
//! ```
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! use std::{net::TcpStream, time::Duration};
//!
//! static DATABASE: Breaker = breaker(
//!     Config::new()
//!         .consecutive_failures(5)
//!         .lasting(Duration::from_millis(100))
//!         .open_for(Duration::from_secs(1))
//!         .exponential(2, Duration::from_secs(60))
//!         .jitter_percent(20),
//! );
//!
//! let connection = DATABASE.call(|| TcpStream::connect("127.0.0.1:1"));
//! assert!(connection.is_err());
//! ```
//!
//! Futures go through the same breaker, with any runtime or none. Put the timeout inside, where it counts as a failure:
//!
//! ```
//! use atomic_breaker_std::{Breaker, CallError, Config, breaker};
//! use std::{io, time::Duration};
//! use tokio::{net::TcpStream, time::timeout};
//!
//! static DATABASE: Breaker = breaker(Config::new());
//!
//! async fn connect(address: &str) -> Result<TcpStream, CallError<io::Error>> {
//!     let limit = Duration::from_millis(500);
//!     DATABASE.call_async(|| async { timeout(limit, TcpStream::connect(address)).await? }).await
//! }
//! ```
//!
//! To report later, or elsewhere, acquire a [`Permit`]; from an `Arc` the permit is owned, so it can move to a spawned
//! thread or task. For code that returns early with `?`, make it [fail when dropped](Permit::failing_when_dropped). To learn
//! when it opens, add an [`Observer`], which can be a closure.
//!
//! Everything in the core crate that a program with `std` needs is re-exported here, with `Arc` and `Box` where they make
//! sense.
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | guard a closure or a future | [`call`](atomic_breaker::Breaker::call), [`call_async`](atomic_breaker::Breaker::call_async) |
//! | wait and retry without `async` | [`blocking::ready`], [`blocking::retry`] |
//! | limit, wait, retry, ping with tokio's timer | feature `tokio`: [`call_timeout`](atomic_breaker::Breaker::call_timeout), [`retry`](atomic_breaker::Breaker::retry) and the other methods that [`wait`] describes |
//! | replace the rules of a breaker while it is in use | [`adjustable_breaker`] |
//! | have a breaker per key, the last failure, shadow mode, limits on calls in flight | `atomic-breaker-server` |
//! | have layers of tower | `atomic-breaker-tower` |
//! | guard an HTTP or gRPC client | `atomic-breaker-http` |
//! | write logs and metrics, see breakers on a page, share them between processes or machines, finish rejected work later | what is [around a breaker] |
//!
//! # Clocks
//!
//! | clock | feature | counts from | a reading | for words that processes share |
//! |---|---|---|---:|---|
//! | [`StdClock`] | | the first reading in the process | 40 ns | no |
//! | `CoarseClock` | `coarse` | the start of the machine, on Linux and Android | 5 ns, steps of 1 to 10 ms | on Linux and Android |
//! | `BootClock` | `shared` | the start of the machine | 32 ns | yes |
//!
//! A reading is most of the cost of a rejection; a call through a closed breaker reads no clock. (Figures from one
//! machine, measured by `cargo run --release -p benches --bin peers`.)
#![doc = ""]
#![doc = concat!("[around a breaker]: ", env!("CARGO_PKG_REPOSITORY"), "/tree/main/std-adapter/around")]
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
//!
//! # Where to read on
//!
//! The [guide] says how to choose settings, where timeouts belong, and how to retry and test.
#![doc = ""]
#![doc = concat!("[guide]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guide.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `kernel`, `std_clock`, `boot_clock`, `coarse_clock`: clocks
// - `thread`, `blocking`: waiting and retries without `async`
// - `rules`: rules that are set while calls are in flight
// - `runtime` (`tokio`): tokio's clock and timer; tasks that are woken when the state changes

pub mod blocking;
#[cfg(all(feature = "shared", unix))]
mod boot_clock;
#[cfg(feature = "coarse")]
mod coarse_clock;
#[cfg(any(
    all(feature = "shared", unix),
    all(feature = "coarse", any(target_os = "linux", target_os = "android"))
))]
mod kernel;
mod rules;
#[cfg(feature = "tokio")]
mod runtime;
mod std_clock;
mod thread;

#[cfg(feature = "serde")]
#[doc(inline)]
pub use atomic_breaker::ConfigOver;
#[doc(inline)]
pub use atomic_breaker::wait::{
    Mutating, Prober, Repairing, Retry, RetryEvent, TimeLimit, Timed, TryEvent,
};
// All of core but `Breaker`: the alias below takes its place.
#[doc(inline)]
pub use atomic_breaker::{
    Adjust, Adjustable, AnyBreaker, AnyError, AsRules, Attempt, BitsOf, Builder, CallError, Cause,
    Classify, Clock, Config, ConfigError, ConstTally, Control, CorruptWord, FailedCall, Failure,
    Fallback, Known, LastCalls, LaterRules, ManualClock, Memory, Observer, OnTransition, Outcome,
    Permit, Present, Ratio, Rejected, Rules, SharedClock, Snapshot, State, StaticBreaker, Tally,
    Token, Transition, TripRule, Unguarded, Verdict, Wait, clock, config, observer, outcome, state,
    static_breaker, tally, wait, word,
};
#[cfg(all(feature = "shared", unix))]
pub use boot_clock::BootClock;
#[cfg(feature = "coarse")]
pub use coarse_clock::CoarseClock;
pub use rules::KeptRules;
#[cfg(feature = "tokio")]
pub use runtime::{StateWatch, TokioClock, TokioTimer};
pub use std_clock::StdClock;

/// Core's [`Breaker`](atomic_breaker::Breaker) with the clock of `std` unless another is named. The parameters are the
/// same, in the same order.
///
/// ```
/// use atomic_breaker_std::{Breaker, Config, LastCalls, Ratio, StdClock, word::NativeWord};
///
/// struct Clients {
///     payments: Breaker,
///     search: Breaker<StdClock, NativeWord, LastCalls>,
/// }
///
/// let half = Config::new().failure_ratio(Ratio::percent(50).of_last(20));
/// let clients = Clients {
///     payments: Breaker::new(Config::new(), StdClock),
///     search: Breaker::builder(half, StdClock).last_calls(LastCalls::new()).build(),
/// };
/// assert!(clients.payments.acquire().is_ok() && clients.search.acquire().is_ok());
/// ```
pub type Breaker<
    C = StdClock,
    W = word::NativeWord,
    T = (),
    O = (),
    R = Rules<<W as word::Word>::Bits>,
> = atomic_breaker::Breaker<C, W, T, O, R>;

/// A closed breaker, for a `static`, a field or an `Arc`.
///
/// In front of a server that is called more than some ten times a second, failures in a row should
/// [last](Config::lasting), for 100 ms: otherwise a few calls that are lost at once open it.
///
/// # Panics
/// When the configuration does not fit the word. In a `static` or `const` that is a compile error; for
/// configurations that are not known to be right there is [`Breaker::try_new`](atomic_breaker::Breaker::try_new).
///
/// ```
/// use atomic_breaker_std::{Breaker, Config, breaker};
/// use std::time::Duration;
///
/// static PAYMENTS: Breaker = breaker(Config::new().lasting(Duration::from_millis(100)));
/// assert_eq!(PAYMENTS.call(|| Ok::<_, ()>("paid")), Ok("paid"));
/// ```
pub const fn breaker(config: Config) -> Breaker {
    Breaker::new(config, StdClock)
}

/// A [`Breaker`] whose rules can be [replaced](atomic_breaker::Breaker::set_config) while it is in use. The parameters
/// are the same, in the same order, except for the rules.
pub type AdjustableBreaker<C = StdClock, W = word::NativeWord, T = (), O = ()> = Breaker<
    C,
    W,
    T,
    O,
    Adjustable<KeptRules<Rules<<W as word::Word>::Bits>>, <W as word::Word>::Bits>,
>;

/// [`breaker`] for rules that can be [replaced](atomic_breaker::Breaker::set_config) while calls are under way. For a
/// tally, an observer or another clock, use [`Builder::build_adjustable`] with [`KeptRules`].
///
/// # Panics
/// When the configuration does not fit the word. In a `static` or `const` that is a compile error; for
/// configurations that are not known to be right there is [`Builder::try_build_adjustable`].
///
/// ```
/// use atomic_breaker_std::{AdjustableBreaker, Config, adjustable_breaker};
///
/// static PAYMENTS: AdjustableBreaker = adjustable_breaker(Config::new());
///
/// PAYMENTS.set_config(Config::new().consecutive_failures(1))?;
/// let _ = PAYMENTS.call(|| Err::<(), _>("no answer"));
/// assert!(PAYMENTS.acquire().is_err());
///
/// let error = PAYMENTS.set_config(Config::new().probes(0)).unwrap_err();
/// assert_eq!(error.to_string(), "with 0 probes an open breaker never closes: set at least 1");
/// # Ok::<(), atomic_breaker_std::ConfigError>(())
/// ```
pub const fn adjustable_breaker(config: Config) -> AdjustableBreaker {
    Breaker::builder(config, StdClock).build_adjustable(KeptRules::new())
}
