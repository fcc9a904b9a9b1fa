//! A circuit breaker whose whole state is **one atomic word**: lock-free, `no_std`, no allocation.
//!
//! It stops a program from hammering something that is failing: after enough failures it rejects calls at
//! once (open), later lets a few probes through (half-open), and closes when they succeed. A call that passes
//! a closed breaker and succeeds costs two loads of the word and no write while no failure is counted, so any
//! number of threads, cores and interrupt handlers share one breaker without contention.
//!
//! ```
//! use atomic_breaker::{Breaker, Config, Fallback, ManualClock};
//! use core::time::Duration;
//!
//! // On a server: `StdClock` of atomic-breaker-std. On a microcontroller: `EmbassyClock` of
//! // atomic-breaker-embassy, or your millisecond counter.
//! static CLOCK: ManualClock = ManualClock::new();
//! static SENSOR: Breaker<&ManualClock> = Breaker::new(
//!     Config::new().consecutive_failures(3).open_for(Duration::from_secs(2)),
//!     &CLOCK,
//! );
//!
//! # fn read_sensor() -> Result<u16, ()> { Ok(7) }
//! let value = SENSOR.call(read_sensor).or_if_rejected(|_| Ok(0));
//! # assert_eq!(value, Ok(7));
//! ```
//!
//! # Where to begin
//!
//! | you want to | use |
//! |---|---|
//! | guard a closure | [`Breaker::call`] |
//! | guard a future | [`Breaker::call_async`]; a timeout [belongs inside](Breaker::call_async) |
//! | return early with `?` | [`Breaker::attempt`] |
//! | report later, or from elsewhere | [`Breaker::acquire`] and its [`Permit`]; [`Token`] |
//! | say which errors count | [`Breaker::call_with`] and a [classifier](Classify) |
//! | set it up | [`Config`]; with memory or an observer, [`Builder`] |
//! | trip on a share of the last calls | [`Config::failure_ratio`] and [`LastCalls`] |
//! | log or count what happens | [`Observer`], or a closure: [`Builder::on_transition`] |
//! | inspect and control it | [`Breaker::snapshot`], [`Control`] |
//! | wait, retry, ping | [`wait`] |
//! | accept any breaker in your own function | [`AnyBreaker`] |
//! | test code that uses it | [`ManualClock`] |
//! | share rules, or replace them while running | [`Rules`], [`Builder::build_adjustable`] |
//! | put the word into RAM that survives a reset | [`word::Retained`], [`Breaker::restore`] |
//! | share it between programs | [`Breaker::shared`] |
//!
//! The life cycle is drawn in [`state`].
//!
//! # Limits
//!
//! One word holds little. The figures in parentheses are for 32-bit words with their default tick of 64 ms.
//!
//! - **Counts are bounded**: failures at 65 535 (255), probes at 255 (15), trips in a row at 31 (7), doublings of
//!   the lease at 4; open time, window, lease and gradual return at 24.8 days (17.5 minutes). A configuration
//!   beyond these bounds is rejected when a breaker is built from it.
//! - **Epochs wrap**: a permit that outlives exactly 512 (16) transitions, or a multiple, and meets the same number
//!   of trips in a row again, is mistaken for a current one. Where one probe is in flight at a time (by default,
//!   and always after a lost round), a probe must match in time, too. In a 32-bit word some late reports of lost
//!   probes are mistaken for current ones: about 0.8 % with two probes at a time, 1.8 % with four, when a third of
//!   the calls hang for up to twenty leases (measured by the test `late_reports`). Most of them are successes,
//!   which at least show that the resource is responding now; failures are 0.2 % and 0.6 %. With one probe at a
//!   time it is 0.1 %, all of them successes; in a 64-bit word there were none.
//! - **Times wrap** after 49.7 days (35 minutes). A caller that retries when the rejection tells it to, or is one
//!   of several, never notices. But if the breaker opens and is then not called for about a multiple of the wrap
//!   `R`, it looks as if it had just opened, and rejects for one more open time. "About" reaches from the guard
//!   band (65.5 s; 4.1 s) plus the rounding of the stored open time (0.1 %; 12.5 %) before the multiple to the open
//!   time after it. The breaker never admits early. A lone caller that calls only every `P` hits this repeatedly if
//!   `P` is near a multiple of `R`: at most `(guard + open time as stored) ÷ d` times in a row, where `d` is the
//!   distance between the two, and forever if `d` is 0. Likewise, single failures about `R` apart fall into one
//!   window if no success comes after the window's end and before the next failure. A return of traffic that was
//!   never completed begins again: calls that come within the time of the return after a multiple of `R` once more
//!   pass or are rejected by their share. If there may be no calls for that long, use longer ticks
//!   ([`Ticks`](word::Ticks) has a table to choose from) or a 64-bit word ([`CriticalSectionWord`](word#structs),
//!   with the feature `wide`).
//! - **The window of failures is a tumbling window**: it starts with its first failure, so up to `2 × limit − 3`
//!   failures can fall within one window length without tripping.
//! - **A breaker inside itself**: do not guard an operation that the same breaker already guards, such as a driver
//!   on a guarded bus. Its failures would count twice, and while half-open the outer call holds the slot, so the
//!   inner one is rejected: the breaker never closes.
#![cfg_attr(
    feature = "document-features",
    doc = "\n# Features\n",
    doc = document_features::document_features!()
)]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod acquire;
mod applied;
mod apply;
mod breaker;
mod call;
mod circuit;
pub mod clock;
pub mod config;
mod control;
mod error;
#[cfg(feature = "heapless")]
mod event_log;
mod figures;
mod machine;
mod number;
pub mod observer;
pub mod outcome;
mod permit;
mod present;
mod report;
mod snapshot;
pub mod state;
pub mod tally;
mod time;
mod token;
mod transition;
pub mod wait;
pub mod word;

pub use breaker::{Adjustable, AnyBreaker, BitsOf, Breaker, Builder, LaterRules};
pub use call::Fallback;
pub use clock::{Clock, ManualClock, SharedClock};
pub use config::{AsRules, Config, ConfigError, Ratio, Rules};
pub use control::{Adjust, Control};
pub use error::{CallError, CorruptWord, FromBitsError, Rejected, SetConfigError, Wait};
#[cfg(feature = "heapless")]
pub use event_log::EventLog;
pub use observer::{Cause, Observer, OnTransition, Transition};
pub use outcome::{AnyError, Classify, Failure, Outcome};
pub use permit::{Attempt, Permit};
pub use present::Present;
pub use snapshot::Snapshot;
pub use state::State;
pub use tally::{ConstTally, LastCalls, Tally, Verdict};
pub use token::Token;

#[cfg(test)]
extern crate std;
