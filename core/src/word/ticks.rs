// SPDX-License-Identifier: MIT OR Apache-2.0
//! 32-bit words with other ticks.

use core::sync::atomic::Ordering;

use super::{AtomicU32, TickBits, Word};

/// A 32-bit word with ticks of 2ᴺ milliseconds instead of 64: longer ticks reach further, shorter
/// ones are finer.
///
/// The tick belongs to the type, so that all breakers that share a word agree on it. Choose it by the **longest
/// silence**: how long the breaker may go without a call (see [the limits](crate#limits)).
///
/// | `N` | tick | longest open time, window, lease, gradual return | time wraps after |
/// |---:|---:|---:|---:|
/// | 0 | 1 ms | 16.4 s | 32.8 s |
/// | 3 | 8 ms | 2.2 min | 4.4 min |
/// | 6, the default of [`AtomicU32`] | 64 ms | 17.5 min | 35 min |
/// | 8 | 256 ms | 70 min | 2.3 h |
/// | 10 | 1.02 s | 4.7 h | 9.3 h |
/// | 12 | 4.1 s | 18.6 h | 37 h |
/// | 16 | 65.5 s | 12.4 days | 24.9 days |
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, word::{AtomicU32, Ticks}};
/// use core::time::Duration;
///
/// // A sensor that is read once an hour.
/// static WORD: Ticks<AtomicU32, 10> = Ticks(AtomicU32::new(0));
/// let clock = ManualClock::new();
/// let config = Config::new().open_for(Duration::from_secs(3 * 3_600));
/// let sensor = Breaker::over(&WORD, config, &clock);
/// assert!(sensor.acquire().is_ok());
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Ticks<W, const N: u32>(pub W);

impl<const N: u32> From<TickBits<N>> for Ticks<AtomicU32, N> {
    fn from(bits: TickBits<N>) -> Self {
        Self(AtomicU32::new(bits.0))
    }
}

impl<W: Word<Bits = u32>, const N: u32> Word for Ticks<W, N> {
    type Bits = TickBits<N>;

    fn load(&self, order: Ordering) -> TickBits<N> {
        TickBits(self.0.load(order))
    }

    fn compare_exchange_weak(
        &self,
        current: TickBits<N>,
        new: TickBits<N>,
        success: Ordering,
        failure: Ordering,
    ) -> Result<TickBits<N>, TickBits<N>> {
        self.0
            .compare_exchange_weak(current.0, new.0, success, failure)
            .map(TickBits)
            .map_err(TickBits)
    }

    fn has_mark(&self, tick_log2: u32) -> bool {
        self.0.has_mark(tick_log2)
    }

    fn set_mark(&self, tick_log2: u32) {
        self.0.set_mark(tick_log2);
    }
}
