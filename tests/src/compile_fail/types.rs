// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that the types of shared words, rules, observers and ticks forbid.
//!
//! # Sharing
//!
//! A breaker goes between threads only if its clock and its observer do:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock};
//! let breaker = Breaker::new(Config::new(), ManualClock::new());
//! std::thread::scope(|scope| { scope.spawn(|| breaker.trip()); });
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker::{Breaker, Config, ManualClock, Observer};
//! struct Count(std::cell::Cell<u32>);
//! impl Observer for Count {}
//! let observer = Count(Default::default());
//! let breaker = Breaker::builder(Config::new(), ManualClock::new()).observer(observer).build();
//! std::thread::scope(|scope| { scope.spawn(|| breaker.trip()); });
//! ```
//!
//! A word that other programs reach takes a clock that all of them read alike:
//! ```
//! use atomic_breaker::{Breaker, Clock, Config, SharedClock, word::AtomicU64};
//! struct BootTime;
//! impl Clock for BootTime {
//!     fn now_ms(&self) -> u32 { 7 }
//! }
//! impl SharedClock for BootTime {}
//! let word = AtomicU64::new(0);
//! let breaker = Breaker::shared(&word, Config::new(), BootTime);
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker::{Breaker, Clock, Config, word::AtomicU64};
//! struct SinceStart;
//! impl Clock for SinceStart {
//!     fn now_ms(&self) -> u32 { 7 }
//! }
//! let word = AtomicU64::new(0);
//! let breaker = Breaker::shared(&word, Config::new(), SinceStart);
//! ```
//!
//! Rules are set on breakers that were built for it:
//! ```
//! use atomic_breaker_std::{Config, adjustable_breaker};
//! let _ = adjustable_breaker(Config::new()).set_config(Config::new());
//! ```
//! ```compile_fail,E0599
//! use atomic_breaker_std::{Config, breaker};
//! let _ = breaker(Config::new()).set_config(Config::new());
//! ```
//!
//! Rules fit words of their shape only:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, Rules, word::AtomicU32};
//! let (word, clock) = (AtomicU32::new(0), ManualClock::new());
//! let rules = Rules::<u32>::new(Config::new());
//! Breaker::from_parts(&word, &rules, &clock, (), ()).trip();
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker::{Breaker, Config, ManualClock, Rules, word::AtomicU32};
//! let (word, clock) = (AtomicU32::new(0), ManualClock::new());
//! let rules = Rules::<u64>::new(Config::new());
//! Breaker::from_parts(&word, &rules, &clock, (), ()).trip();
//! ```
//!
//! # Observers
//!
//! A closure is made an observer by `on_transition`:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, Transition};
//! let tell = |transition: &Transition| println!("{transition}");
//! Breaker::builder(Config::new(), ManualClock::new()).on_transition(tell).build().trip();
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker::{Breaker, Config, ManualClock, Transition};
//! let tell = |transition: &Transition| println!("{transition}");
//! Breaker::builder(Config::new(), ManualClock::new()).observer(tell).build().trip();
//! ```
//!
//! # What may grow
//!
//! States, causes and the fields of a transition may become more:
//! ```
//! use atomic_breaker::State;
//! let state = State::Closed;
//! match state {
//!     State::Closed | State::Open | State::HalfOpen => {}
//!     State::Returning | State::ForcedOpen | State::Disabled => {}
//!     _ => {}
//! }
//! ```
//! ```compile_fail,E0004
//! use atomic_breaker::State;
//! let state = State::Closed;
//! match state {
//!     State::Closed | State::Open | State::HalfOpen => {}
//!     State::Returning | State::ForcedOpen | State::Disabled => {}
//! }
//! ```
//! ```
//! use atomic_breaker::{Cause, State, Transition};
//! let made = Transition::new(State::Closed, State::Open, Cause::Manual);
//! let Transition { from, to, cause, at_ms, epoch, trips, open_for_ms, .. } = made;
//! ```
//! ```compile_fail,E0638
//! use atomic_breaker::{Cause, State, Transition};
//! let made = Transition::new(State::Closed, State::Open, Cause::Manual);
//! let Transition { from, to, cause, at_ms, epoch, trips, open_for_ms } = made;
//! ```
//!
//! # Words
//!
//! Only `u32` and `u64` have a layout:
//! ```
//! fn bits<B: atomic_breaker::word::Bits>() {}
//! bits::<u32>();
//! bits::<u64>();
//! ```
//! ```compile_fail,E0277
//! fn bits<B: atomic_breaker::word::Bits>() {}
//! bits::<u16>();
//! ```
//!
//! A tick is at most 2¹⁶ ms:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, word::{AtomicU32, Ticks}};
//! let word = Ticks::<_, 16>(AtomicU32::new(0));
//! Breaker::over(&word, Config::new(), ManualClock::new()).trip();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, word::{AtomicU32, Ticks}};
//! let word = Ticks::<_, 17>(AtomicU32::new(0));
//! Breaker::over(&word, Config::new(), ManualClock::new()).trip();
//! ```
//!
//! It belongs to the type, so that two who share a word cannot disagree:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, word::{AtomicU32, Ticks}};
//! type Hourly<'a> = Breaker<&'a ManualClock, &'a Ticks<AtomicU32, 10>>;
//! let (word, clock) = (Ticks::<_, 10>(AtomicU32::new(0)), ManualClock::new());
//! let breaker: Hourly<'_> = Breaker::over(&word, Config::new(), &clock);
//! ```
//! ```compile_fail,E0308
//! use atomic_breaker::{Breaker, Config, ManualClock, word::{AtomicU32, Ticks}};
//! type Hourly<'a> = Breaker<&'a ManualClock, &'a Ticks<AtomicU32, 10>>;
//! let (word, clock) = (Ticks::<_, 8>(AtomicU32::new(0)), ManualClock::new());
//! let breaker: Hourly<'_> = Breaker::over(&word, Config::new(), &clock);
//! ```
//!
//! A 64-bit word needs none:
//! ```compile_fail,E0271
//! use atomic_breaker::{Breaker, Config, ManualClock, word::{AtomicU64, Ticks}};
//! let word = Ticks::<_, 10>(AtomicU64::new(0));
//! Breaker::over(&word, Config::new(), ManualClock::new()).trip();
//! ```
//!
//! A handle of size zero is checked when it is made, even if nothing uses it, and takes a builder:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, static_breaker, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static_breaker! {
//!     struct Fits: Breaker<&'static ManualClock, &'static AtomicU32> =
//!         Breaker::builder(Config::new().consecutive_failures(255), &CLOCK).word(&WORD);
//! }
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, static_breaker, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static_breaker! {
//!     struct TooMany: Breaker<&'static ManualClock, &'static AtomicU32> =
//!         Breaker::builder(Config::new().consecutive_failures(256), &CLOCK).word(&WORD);
//! }
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! ```
//! ```compile_fail,E0308
//! use atomic_breaker::{Breaker, Config, ManualClock, static_breaker, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static_breaker! {
//!     struct Built: Breaker<&'static ManualClock, &'static AtomicU32> =
//!         Breaker::over(&WORD, Config::new().consecutive_failures(255), &CLOCK);
//! }
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! ```
