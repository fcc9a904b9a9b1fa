// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that must not compile. Each case stands beside a twin that differs in the one thing and
//! compiles, so that a case fails for its reason and not for another. The messages of bad
//! configurations are pinned in `contract::config`; a `const` prints the same.
//!
//! # Configurations that do not fit
//!
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! const _: () = { let _ = Config::new(); };
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static FITS: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::over(&WORD, Config::new().consecutive_failures(255), &CLOCK);
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static TOO_MANY: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::over(&WORD, Config::new().consecutive_failures(256), &CLOCK);
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static NONE: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::over(&WORD, Config::new().consecutive_failures(0), &CLOCK);
//! ```
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! use core::time::Duration;
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static LONGEST: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::over(&WORD, Config::new().open_for(Duration::from_millis(64 << 14)), &CLOCK);
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! use core::time::Duration;
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static TOO_LONG: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::over(&WORD, Config::new().open_for(Duration::from_millis((64 << 14) + 1)), &CLOCK);
//! ```
//! ```
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! static SOUND: Breaker = breaker(Config::new().probes(2).close_after(2));
//! ```
//! ```
//! use atomic_breaker_std::{AdjustableBreaker, Config, adjustable_breaker};
//! static SOUND: AdjustableBreaker = adjustable_breaker(Config::new().probes(2).close_after(2));
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker_std::{AdjustableBreaker, Config, adjustable_breaker};
//! static POINTLESS: AdjustableBreaker = adjustable_breaker(Config::new().probes(2).close_after(1));
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! static NEVER_CLOSES: Breaker = breaker(Config::new().probes(0));
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! static POINTLESS: Breaker = breaker(Config::new().probes(2).close_after(1));
//! ```
//! ```
//! use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, Ratio, word::NativeWord};
//! static CLOCK: ManualClock = ManualClock::new();
//! static BY_RATIO: Breaker<&ManualClock, NativeWord, LastCalls> =
//!     Breaker::builder(Config::new().failure_ratio(Ratio::percent(50)), &CLOCK)
//!         .last_calls(LastCalls::new())
//!         .build();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, Ratio, word::NativeWord};
//! static CLOCK: ManualClock = ManualClock::new();
//! static WITHOUT_MEMORY: Breaker<&ManualClock, NativeWord> =
//!     Breaker::builder(Config::new().failure_ratio(Ratio::percent(50)), &CLOCK)
//!         .build();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, Ratio};
//! static CLOCK: ManualClock = ManualClock::new();
//! static WITHOUT_MEMORY: Breaker<&ManualClock> =
//!     Breaker::new(Config::new().failure_ratio(Ratio::percent(50)), &CLOCK);
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, Ratio, word::NativeWord};
//! static CLOCK: ManualClock = ManualClock::new();
//! static NEVER_ENOUGH: Breaker<&ManualClock, NativeWord, LastCalls> = Breaker::builder(
//!     Config::new().failure_ratio(Ratio::percent(50).of_last(10).min_calls(11)), &CLOCK)
//!         .last_calls(LastCalls::new())
//!         .build();
//! ```
//! ```
//! use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, Ratio, word::{AtomicU32, NativeWord}};
//! static CLOCK: ManualClock = ManualClock::new();
//! static ALL_THAT_IT_HOLDS: Breaker<&ManualClock, NativeWord, LastCalls<AtomicU32>> =
//!     Breaker::builder(Config::new().failure_ratio(Ratio::percent(50).of_last(27)), &CLOCK)
//!         .last_calls(LastCalls::over(AtomicU32::new(0)))
//!         .build();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, Ratio, word::{AtomicU32, NativeWord}};
//! static CLOCK: ManualClock = ManualClock::new();
//! static MORE_THAN_IT_HOLDS: Breaker<&ManualClock, NativeWord, LastCalls<AtomicU32>> =
//!     Breaker::builder(Config::new().failure_ratio(Ratio::percent(50).of_last(28)), &CLOCK)
//!         .last_calls(LastCalls::over(AtomicU32::new(0)))
//!         .build();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock};
//! static CLOCK: ManualClock = ManualClock::new();
//! static NEVER_TRIPS: Breaker<&ManualClock> = Breaker::new(Config::new().tally_only(), &CLOCK);
//! ```
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static BUILT: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::builder(Config::new().probes(15), &CLOCK).word(&WORD).build();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
//! static CLOCK: ManualClock = ManualClock::new();
//! static WORD: AtomicU32 = AtomicU32::new(0);
//! static BUILT: Breaker<&ManualClock, &AtomicU32> =
//!     Breaker::builder(Config::new().probes(16), &CLOCK).word(&WORD).build();
//! ```
//! ```
//! use atomic_breaker::{Config, Rules};
//! static SHARED: Rules<u32> = Rules::new(Config::new().consecutive_failures(255));
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Config, Rules};
//! static SHARED: Rules<u32> = Rules::new(Config::new().consecutive_failures(256));
//! ```
//! ```
//! use atomic_breaker::{Config, Rules};
//! use core::time::Duration;
//! static BACK: Rules = Rules::new(Config::new().gradual_return(1, Duration::from_secs(9)));
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Config, Rules};
//! use core::time::Duration;
//! static BACK: Rules = Rules::new(Config::new().gradual_return(0, Duration::from_secs(9)));
//! ```
//! ```
//! use atomic_breaker::EventLog;
//! static LOG: EventLog<1> = EventLog::new();
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::EventLog;
//! static LOG: EventLog<0> = EventLog::new();
//! ```
//!
//! # Classifiers
//!
//! The argument of a closure has its type written out:
//!
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, Outcome};
//! let breaker = Breaker::new(Config::new(), ManualClock::new());
//! let classify = |result: &Result<u8, ()>| match result {
//!     Ok(_) => Outcome::Success,
//!     Err(()) => Outcome::Ignored,
//! };
//! let _ = breaker.call_with(classify, || Ok::<u8, ()>(1));
//! ```
//! ```compile_fail,E0631
//! use atomic_breaker::{Breaker, Config, ManualClock, Outcome};
//! let breaker = Breaker::new(Config::new(), ManualClock::new());
//! let classify = |result| match result {
//!     Ok(_) => Outcome::Success,
//!     Err(()) => Outcome::Ignored,
//! };
//! let _ = breaker.call_with(classify, || Ok::<u8, ()>(1));
//! ```
//!
//! # Permits, attempts and tokens
//!
//! A permit does not outlive its breaker:
//! ```
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! let guard = breaker(Config::new());
//! let permit = { guard.acquire() };
//! drop(permit);
//! ```
//! ```compile_fail,E0597
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! let permit = { let guard = breaker(Config::new()); guard.acquire() };
//! drop(permit);
//! ```
//!
//! It reports once:
//! ```
//! use atomic_breaker_std::{Config, breaker};
//! let guard = breaker(Config::new());
//! let permit = guard.acquire().unwrap();
//! permit.success();
//! ```
//! ```compile_fail,E0382
//! use atomic_breaker_std::{Config, breaker};
//! let guard = breaker(Config::new());
//! let permit = guard.acquire().unwrap();
//! permit.success();
//! permit.failure();
//! ```
//!
//! It must not be forgotten by accident:
//! ```
//! #![deny(unused_must_use)]
//! use atomic_breaker_std::{Config, breaker};
//! let guard = breaker(Config::new());
//! guard.acquire().unwrap().success();
//! ```
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use atomic_breaker_std::{Config, breaker};
//! let guard = breaker(Config::new());
//! guard.acquire().unwrap();
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use atomic_breaker_std::{Config, breaker};
//! let guard = breaker(Config::new());
//! guard.acquire().unwrap().failing_when_dropped();
//! ```
//! ```compile_fail,E0382
//! use atomic_breaker_std::{Config, breaker};
//! let guard = breaker(Config::new());
//! let attempt = guard.acquire().unwrap().failing_when_dropped();
//! attempt.success();
//! attempt.cancel();
//! ```
//!
//! One that borrows does not go into a thread that may outlive the breaker; one that owns does:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, Permit};
//! use std::sync::Arc;
//! let guard = Arc::new(Breaker::new(Config::new(), ManualClock::new()));
//! let permit = Permit::acquire(Arc::clone(&guard)).unwrap();
//! std::thread::spawn(move || permit.success());
//! ```
//! ```compile_fail,E0597
//! use atomic_breaker::{Breaker, Config, ManualClock, Permit};
//! use std::sync::Arc;
//! let guard = Arc::new(Breaker::new(Config::new(), ManualClock::new()));
//! let permit = guard.acquire().unwrap();
//! std::thread::spawn(move || permit.success());
//! ```
//!
//! A permit is of a breaker:
//! ```compile_fail,E0277
//! use atomic_breaker::{Config, Permit};
//! let permit = Permit::acquire(Config::new());
//! ```
//!
//! A token fits words of its width and tick only, and is used once:
//! ```
//! use atomic_breaker::{Breaker, Config, ManualClock, Token, word::AtomicU32};
//! let clock = ManualClock::new();
//! let breaker = Breaker::over(AtomicU32::new(0), Config::new(), &clock);
//! breaker.resume(Token::<u32>::from_raw(0, 0)).success();
//! ```
//! ```compile_fail,E0308
//! use atomic_breaker::{Breaker, Config, ManualClock, Token, word::AtomicU32};
//! let clock = ManualClock::new();
//! let breaker = Breaker::over(AtomicU32::new(0), Config::new(), &clock);
//! breaker.resume(Token::<u64>::from_raw(0, 0)).success();
//! ```
//! ```compile_fail,E0308
//! use atomic_breaker::{Breaker, Config, ManualClock, Token, word::{AtomicU32, TickBits}};
//! let clock = ManualClock::new();
//! let breaker = Breaker::over(AtomicU32::new(0), Config::new(), &clock);
//! breaker.resume(Token::<TickBits<6>>::from_raw(TickBits(0), 0)).success();
//! ```
//! ```compile_fail,E0382
//! use atomic_breaker::{Breaker, Config, ManualClock, Token, word::AtomicU32};
//! let clock = ManualClock::new();
//! let breaker = Breaker::over(AtomicU32::new(0), Config::new(), &clock);
//! let token = Token::<u32>::from_raw(0, 0);
//! breaker.resume(token).success();
//! breaker.resume(token).success();
//! ```

pub mod nested;
pub mod types;
