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
//! | you want to | take |
//! |---|---|
//! | guard a closure | [`Breaker::call`] |
//! | guard a future | [`Breaker::call_async`]; a time-out [belongs inside](Breaker::call_async) |
//! | leave by `?` | [`Breaker::attempt`] |
//! | report later, or from elsewhere | [`Breaker::acquire`] and its [`Permit`]; [`Token`] |
//! | say which errors count | [`Breaker::call_with`] and a [classifier](Classify) |
//! | set it up | [`Config`]; with memory or an observer, [`Builder`] |
//! | trip on a share of the last calls | [`Config::failure_ratio`] and [`LastCalls`] |
//! | log or count what happens | [`Observer`], or a closure: [`Builder::on_transition`] |
//! | see and command it | [`Breaker::snapshot`], [`Control`] |
//! | wait, retry, ping | [`wait`] |
//! | take any breaker in a function of yours | [`AnyBreaker`] |
//! | test what uses it | [`ManualClock`] |
//! | share rules, or replace them while running | [`Rules`], [`Builder::build_adjustable`] |
//! | put the word into RAM that survives a reset | [`word::Retained`], [`Breaker::restore`] |
//! | share it between programs | [`Breaker::shared`] |
//!
//! The life cycle is drawn in [`state`].
//!
//! # Limits
//!
//! A word is small. The figures in brackets are for 32-bit words with their default tick of 64 ms.
//!
//! - **Counts end**: failures at 65 535 (255), probes at 255 (15), trips in a row at 31 (7), doublings of
//!   the lease at 4, open time, window, lease and gradual return at 24.8 days (17.5 minutes). A
//!   configuration beyond is rejected when it is built.
//! - **Epochs wrap**: a permit that lives through exactly 512 (16) transitions, or a multiple, while the
//!   breaker comes back to as many trips in a row, is taken for a new one. A probe must match in time, too,
//!   where one is in flight at a time: by default, and always after a lost round. In a 32-bit
//!   word some late reports of lost probes are taken for current ones: about 0.8 % with two probes at a time, 1.8 %
//!   with four, where a third of the calls hang for up to twenty leases (the test `late_reports` measures it). Most
//!   of them are successes, which show at least that the resource answers now; failures are 0.2 % and 0.6 %. With
//!   one probe at a time it is 0.1 %, successes all of them; in a 64-bit word none were.
//! - **Times wrap**: after 49.7 days (35 minutes). A caller that retries when the rejection says, or is one
//!   of several, never notices. After a silence of about a multiple of the wrap `R`, from the guard band
//!   (65.5 s; 4.1 s) and what the stored open time is rounded up by (0.1 %; 12.5 %) before it to the open
//!   time after it, a breaker that opened looks as if it had just done so, and rejects for its open time once
//!   more. It never admits early. Someone who calls only every `P`, alone, meets that again and again if `P`
//!   is near a multiple of `R`: at most `(guard + open time as stored) ÷ d` times in a row, `d` being the
//!   distance, and for ever if that is 0. In the same way failures that come alone, each about `R` after the
//!   other, with no success after the window's end and before the next one, fall into one window; and a return of
//!   traffic that nobody finished begins again: calls that come within the time of the return after a multiple of
//!   `R` pass or are rejected by their share once more. Take longer ticks ([`Ticks`](word::Ticks) has a
//!   table to choose from) or a 64-bit word ([`CriticalSectionWord`](word#structs), with the feature `wide`)
//!   where nobody calls for so long.
//! - **A window of failures is a tumbling one**: it starts with its first failure, so up to
//!   `2 × limit − 3` failures can fall within one window length without tripping.
//! - **The breaker inside itself**: do not guard an operation that is guarded by the same breaker already,
//!   as a driver over a guarded bus. Its failures would count twice, and while half-open the inner call
//!   is rejected by the slot that the outer one holds: it never closes.
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
mod ticket;
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
