// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers of all tests.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use atomic_breaker::{
    AsRules, Breaker, Clock, Config, ManualClock, Observer, Outcome, Rejected, Rules, State, Tally,
    Transition,
};

/// A 32-bit word with ticks of 1 ms, so that both words hold the same times.
pub(crate) type Fine = Ticks<AtomicU32, 0>;

/// A word of either width, with ticks of 1 ms.
pub(crate) trait AnyWord: Word + From<Self::Bits> + Sync {
    const MAX_FAILURES: u32;
    const MAX_PROBES: u32;
    const MAX_TRIPS: u8;
    const MAX_LOST_ROUNDS: u8;
    const EPOCHS: u32;
    /// The longest time, in milliseconds.
    const LONGEST: u32;
    /// The time wraps after this many milliseconds.
    const WRAP: u64;
    /// The word with 1 in its time field and 0 everywhere else.
    const TIME: u64;
    /// The position at which the load begins.
    const LOAD: u32;
    /// A step back of the clock by this many milliseconds is tolerated.
    const GUARD: u32;
    /// An open time is stored rounded up by less than one part in this many.
    const STORED_STEPS: u32;

    fn fresh() -> Self;
}

impl AnyWord for Fine {
    const MAX_FAILURES: u32 = 255;
    const MAX_PROBES: u32 = 15;
    const MAX_TRIPS: u8 = 7;
    const MAX_LOST_ROUNDS: u8 = 4;
    const EPOCHS: u32 = 16;
    const LONGEST: u32 = 1 << 14;
    const WRAP: u64 = 1 << 15;
    const TIME: u64 = 1 << 13;
    const LOAD: u32 = 5;
    const GUARD: u32 = 64;
    const STORED_STEPS: u32 = 8;

    fn fresh() -> Self {
        Self::default()
    }
}

impl AnyWord for AtomicU64 {
    const MAX_FAILURES: u32 = 65_535;
    const MAX_PROBES: u32 = 255;
    const MAX_TRIPS: u8 = 31;
    const MAX_LOST_ROUNDS: u8 = 4;
    const EPOCHS: u32 = 512;
    const LONGEST: u32 = 1 << 31;
    const WRAP: u64 = 1 << 32;
    const TIME: u64 = 1 << 23;
    const LOAD: u32 = 7;
    const GUARD: u32 = 1 << 16;
    const STORED_STEPS: u32 = 1_024;

    fn fresh() -> Self {
        Self::new(0)
    }
}

/// Makes a test of each generic function for each word.
macro_rules! on_both_words {
    ($($name:ident),* $(,)?) => {
        mod on_64_bits {
            $(#[test] fn $name() { super::$name::<atomic_breaker::word::AtomicU64>(); })*
        }
        mod on_32_bits {
            $(#[test] fn $name() { super::$name::<crate::support::Fine>(); })*
        }
    };
}
pub(crate) use on_both_words;

pub(crate) type Tested<'a, W> = Breaker<&'a ManualClock, W>;

pub(crate) fn breaker<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    Breaker::over(W::fresh(), config, clock)
}

/// A breaker whose observer is a diary.
pub(crate) type Observed<'a, W> = Breaker<&'a ManualClock, W, (), &'a Diary>;

pub(crate) fn observed<'a, W: AnyWord>(
    config: Config,
    clock: &'a ManualClock,
    diary: &'a Diary,
) -> Observed<'a, W> {
    Breaker::builder(config, clock)
        .word(W::fresh())
        .observer(diary)
        .build()
}

/// The default rules with a lease that a 32-bit word with ticks of 1 ms can hold.
pub(crate) const fn rules() -> Config {
    Config::new().probe_lease(Duration::from_secs(10))
}

pub(crate) fn checked<W: Word>(config: Config) -> Rules<W::Bits> {
    Rules::new(config)
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The time for which the breaker stays open; call it right after a trip.
pub(crate) fn opened_for<W: AnyWord>(breaker: &Tested<'_, W>) -> Duration {
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.entered(), State::Open);
    snapshot.retry_in().unwrap()
}

/// Fails `times` times.
pub(crate) fn fail<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>>(
    breaker: &Breaker<C, W, T, O, R>,
    times: u32,
) {
    for _ in 0..times {
        breaker.acquire().unwrap().failure();
    }
}

/// A clock that must not be read.
pub(crate) struct NoClock;

impl Clock for NoClock {
    fn now_ms(&self) -> u32 {
        panic!("the clock was read")
    }
}

/// A clock whose dice are set by the test: one number again and again, or evenly spread ones.
#[derive(Default)]
pub(crate) struct Diced {
    pub(crate) clock: ManualClock,
    dice: Cell<u32>,
    step: u32,
}

impl Diced {
    /// The dice of [`Clock::random`], undisturbed by other tests: multiples of the golden ratio.
    pub(crate) fn even() -> Self {
        Self {
            step: 0x9E37_79B9,
            ..Self::default()
        }
    }

    /// With 0 every call passes, with `u32::MAX` none does before the end.
    pub(crate) fn throw(&self, dice: u32) {
        self.dice.set(dice);
    }

    pub(crate) fn advance(&self, time: u64) {
        self.clock.advance(ms(time));
    }
}

impl Clock for Diced {
    fn now_ms(&self) -> u32 {
        self.clock.now_ms()
    }

    fn random(&self) -> u32 {
        let dice = self.dice.get();
        self.dice.set(dice.wrapping_add(self.step));
        dice
    }
}

/// Writes down everything that the breaker reports.
#[derive(Default)]
pub(crate) struct Diary {
    pub(crate) transitions: RefCell<Vec<Transition>>,
    pub(crate) rejected: RefCell<Vec<Rejected>>,
    pub(crate) outcomes: RefCell<Vec<Outcome>>,
    pub(crate) cancelled: Cell<u32>,
}

impl Diary {
    /// Takes the causes of the transitions so far.
    pub(crate) fn causes(&self) -> Vec<atomic_breaker::Cause> {
        let reported = self.transitions.take();
        reported.iter().map(|transition| transition.cause).collect()
    }
}

impl Observer for Diary {
    fn transition(&self, transition: &Transition) {
        self.transitions.borrow_mut().push(*transition);
    }

    fn rejected(&self, rejected: Rejected) {
        self.rejected.borrow_mut().push(rejected);
    }

    fn outcome(&self, outcome: Outcome) {
        self.outcomes.borrow_mut().push(outcome);
    }

    fn cancelled(&self) {
        self.cancelled.set(self.cancelled.get() + 1);
    }
}
