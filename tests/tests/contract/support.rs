//! What the tests share.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{
    Breaker, Clock, Config, ManualClock, Observer, Outcome, Rejected, Transition,
};

/// A word of either width.
pub(crate) trait AnyWord: Word + From<Self::Bits> {
    const MAX_FAILURES: u32;
    const MAX_PROBES: u32;
    const MAX_TRIPS: u8;
    const EPOCHS: u32;
    /// The longest time, in milliseconds, with ticks of 1 ms.
    const LONGEST: u32;
    /// The time wraps after so many milliseconds, with ticks of 1 ms.
    const WRAP: u64;
    /// A step back of the clock by so many milliseconds is tolerated, with ticks of 1 ms.
    const GUARD: u32;

    fn fresh() -> Self;
}

impl AnyWord for AtomicU32 {
    const MAX_FAILURES: u32 = 255;
    const MAX_PROBES: u32 = 15;
    const MAX_TRIPS: u8 = 7;
    const EPOCHS: u32 = 16;
    const LONGEST: u32 = 1 << 14;
    const WRAP: u64 = 1 << 15;
    const GUARD: u32 = 64;

    fn fresh() -> Self {
        Self::new(0)
    }
}

impl AnyWord for AtomicU64 {
    const MAX_FAILURES: u32 = 65_535;
    const MAX_PROBES: u32 = 255;
    const MAX_TRIPS: u8 = 31;
    const EPOCHS: u32 = 512;
    const LONGEST: u32 = 1 << 31;
    const WRAP: u64 = 1 << 32;
    const GUARD: u32 = 1 << 16;

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
            $(#[test] fn $name() { super::$name::<atomic_breaker::word::AtomicU32>(); })*
        }
    };
}
pub(crate) use on_both_words;

pub(crate) type Tested<'a, W> = Breaker<&'a ManualClock, W>;

/// A breaker with ticks of 1 ms, so that both words tell the same times.
pub(crate) fn breaker<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    Breaker::over(W::fresh(), config.tick_log2_ms(0), clock)
}

/// The default rules with a lease that a 32-bit word with ticks of 1 ms can tell.
pub(crate) const fn rules() -> Config {
    Config::new().probe_lease(Duration::from_secs(10))
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Fails `times` times.
pub(crate) fn fail<C: Clock, W: Word>(breaker: &Breaker<C, W>, times: u32) {
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

/// Writes down everything that it is told.
#[derive(Default)]
pub(crate) struct Diary {
    pub(crate) transitions: RefCell<Vec<Transition>>,
    pub(crate) refused: RefCell<Vec<Rejected>>,
    pub(crate) outcomes: RefCell<Vec<Outcome>>,
    pub(crate) cancelled: Cell<u32>,
}

impl Observer for Diary {
    fn transition(&self, transition: &Transition) {
        self.transitions.borrow_mut().push(*transition);
    }

    fn refused(&self, rejected: Rejected) {
        self.refused.borrow_mut().push(rejected);
    }

    fn outcome(&self, outcome: Outcome) {
        self.outcomes.borrow_mut().push(outcome);
    }

    fn cancelled(&self) {
        self.cancelled.set(self.cancelled.get() + 1);
    }
}
