//! What must not compile. Each case stands beside a twin that differs in the one thing and compiles,
//! so that a case fails for its reason and not for another. The messages of bad configurations are
//! pinned in `contract::config`; a `const` prints the same.
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
//! ```compile_fail,E0080
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! static NEVER_CLOSES: Breaker = breaker(Config::new().probes(0));
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker_std::{Breaker, Config, breaker};
//! static POINTLESS: Breaker = breaker(Config::new().probes(2).close_after(1));
//! ```
//! ```
//! use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, word::NativeWord};
//! static CLOCK: ManualClock = ManualClock::new();
//! static BY_RATIO: Breaker<&ManualClock, NativeWord, LastCalls> = Breaker::from_parts(
//!     NativeWord::new(0), Config::new().tally_only(), &CLOCK, LastCalls::new(10, 5, 50), (),
//! );
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{Breaker, Config, ManualClock, word::NativeWord};
//! static CLOCK: ManualClock = ManualClock::new();
//! static NEVER_TRIPS: Breaker<&ManualClock, NativeWord> = Breaker::from_parts(
//!     NativeWord::new(0), Config::new().tally_only(), &CLOCK, (), (),
//! );
//! ```
//! ```compile_fail,E0080
//! use atomic_breaker::{LastCalls, word::NativeWord};
//! static FORGETFUL: LastCalls<NativeWord> = LastCalls::new(10, 11, 50);
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
//! # Permits and tokens
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
//! A token fits words of its width only, and is used once:
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
//! ```compile_fail,E0382
//! use atomic_breaker::{Breaker, Config, ManualClock, Token, word::AtomicU32};
//! let clock = ManualClock::new();
//! let breaker = Breaker::over(AtomicU32::new(0), Config::new(), &clock);
//! let token = Token::<u32>::from_raw(0, 0);
//! breaker.resume(token).success();
//! breaker.resume(token).success();
//! ```
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
//! let breaker = Breaker::new(Config::new(), ManualClock::new()).with_observer(observer);
//! std::thread::scope(|scope| { scope.spawn(|| breaker.trip()); });
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
