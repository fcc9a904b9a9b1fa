// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source of time.

use core::cell::Cell;
use core::time::Duration;

use crate::number::scramble;
use crate::word::{self, AtomicU32};

/// A source of time, read only off the closed path: to trip, to reject, to admit a probe, to count
/// within a window and to measure slow calls.
///
/// # What an implementation must do
///
/// - **Milliseconds since any fixed origin, modulo 2³².** After `u32::MAX` comes 0; do not saturate.
/// - **Monotonic, nearly**: readings may step back by less than the guard band of the word (65.5 s in 64-bit words, 64
///   ticks in 32-bit words), as when the readings of two threads cross. A wall clock that can be set will not do.
/// - **As precise as you need the times to be**: whatever a breaker measures may end early or late by one step.
/// - **Never fail, block or panic.** It is read in interrupt handlers.
/// - **The same for all breakers that share a word.**
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a clock of a circuit breaker",
    note = "use `StdClock` of atomic-breaker-std or `EmbassyClock` of atomic-breaker-embassy, or implement \
            `Clock` for your millisecond counter"
)]
pub trait Clock {
    /// Milliseconds since any fixed origin, modulo 2³².
    fn now_ms(&self) -> u32;

    /// A number that differs between the devices or processes of a fleet, for example the chip's unique number or a random
    /// number drawn at start: the seed of the jitter if the configuration sets none. It need not change over time.
    fn entropy(&self) -> u32 {
        0
    }

    /// A number that differs from call to call, and between the devices or processes of a fleet, spread over all 2³²
    /// values: for jitter, and for which calls pass while traffic returns. It need not be unpredictable: the default
    /// scrambles a counter and the [entropy](Self::entropy).
    fn random(&self) -> u32 {
        scramble(word::draw(&RANDOM, 1) ^ scramble(self.entropy()))
    }
}

static RANDOM: AtomicU32 = AtomicU32::new(0);

/// A clock that reads the same in every program that can reach a word: other processes on the machine, other
/// cores with their own program, the same program after a restart.
///
/// Required where a word is shared beyond one program: with a clock whose origin is the start of the process, another
/// process's breaker would admit probes at once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be read alike by all programs that share the word",
    note = "use a clock without an origin of its own, such as `BootClock` of atomic-breaker-std; to take up a \
            word after a restart instead, `restore` it"
)]
pub trait SharedClock: Clock {}

macro_rules! forward_clock {
    ($pointer:ty) => {
        impl<T: Clock + ?Sized> Clock for $pointer {
            fn now_ms(&self) -> u32 {
                (**self).now_ms()
            }

            fn entropy(&self) -> u32 {
                (**self).entropy()
            }

            fn random(&self) -> u32 {
                (**self).random()
            }
        }

        impl<T: SharedClock + ?Sized> SharedClock for $pointer {}
    };
}

for_pointers!(forward_clock);

/// A clock for tests, which stands still until moved. Its random numbers are its own, the same for every new clock: a test
/// with jitter or a gradual return sees the same times and the same decisions in every run, whatever other tests do
/// meanwhile. Breakers that must draw different jitter share one clock, or have a [`seed`](crate::Config::seed) each.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, State};
/// use core::time::Duration;
///
/// let clock = ManualClock::new();
/// let config = Config::new().consecutive_failures(1).open_for(Duration::from_secs(5));
/// let breaker = Breaker::new(config, &clock);
///
/// breaker.acquire().unwrap().failure();
/// clock.advance(Duration::from_millis(4_999));
/// let rejected = breaker.acquire().unwrap_err();
/// assert_eq!(rejected.retry_in(), Some(Duration::from_millis(1)));
///
/// clock.advance(Duration::from_millis(1));
/// breaker.acquire().unwrap().success();
/// assert_eq!(breaker.state(), State::Closed);
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    ms: AtomicU32,
    drawn: AtomicU32,
}

/// Whole milliseconds, rounded up, modulo 2³².
const fn whole_ms(time: Duration) -> u32 {
    time.as_nanos().div_ceil(1_000_000) as u32
}

impl ManualClock {
    /// A clock at 0.
    pub const fn new() -> Self {
        Self::starting_at(0)
    }

    /// A clock at the given reading, for example just before the wrap.
    pub const fn starting_at(ms: u32) -> Self {
        Self {
            ms: AtomicU32::new(ms),
            drawn: AtomicU32::new(0),
        }
    }

    /// Moves the clock forward, in whole milliseconds, rounded up. Wraps, as clocks do.
    pub fn advance(&self, time: Duration) {
        let ms = whole_ms(time);
        self.change(|now| now.wrapping_add(ms));
    }

    /// Moves the clock back by as much as [`advance`](Self::advance) moves it forward.
    pub fn step_back(&self, time: Duration) {
        let ms = whole_ms(time);
        self.change(|now| now.wrapping_sub(ms));
    }

    /// Sets the reading.
    pub fn set_ms(&self, ms: u32) {
        self.change(|_| ms);
    }

    fn change(&self, step: impl Fn(u32) -> u32) {
        let mut now = word::load_acquire(&self.ms);
        while let Err(found) = word::compare_exchange(&self.ms, now, step(now)) {
            now = found;
        }
    }
}

/// Shared by the breakers of a test, in place of programs that share a word.
impl SharedClock for ManualClock {}

impl Clock for ManualClock {
    #[inline]
    fn now_ms(&self) -> u32 {
        word::load_acquire(&self.ms)
    }

    fn random(&self) -> u32 {
        scramble(word::draw(&self.drawn, 1))
    }
}

/// A single reading of a clock, taken when it is first asked for.
pub(crate) struct Now<'a, C> {
    pub(crate) clock: &'a C,
    ms: Cell<Option<u32>>,
}

impl<'a, C: Clock> Now<'a, C> {
    pub(crate) const fn new(clock: &'a C) -> Self {
        Self {
            clock,
            ms: Cell::new(None),
        }
    }

    // Inlined, so that the compiler sees which reading is the first: a `OnceCell` would check every time.
    #[inline]
    pub(crate) fn ms(&self) -> u32 {
        let ms = self.ms.get().unwrap_or_else(|| self.clock.now_ms());
        self.ms.set(Some(ms));
        ms
    }
}
