// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words around another word that count or disturb its use.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use atomic_breaker::word::Word;

use crate::random::nth;

/// Hooks that run when a word is used; by default they do nothing.
pub trait Watch {
    /// Runs before each load.
    fn load(&self) {}

    /// Runs before each exchange. Returns whether it is tried; otherwise it fails spuriously.
    fn exchange(&self) -> bool {
        true
    }

    /// Runs after each exchange that was tried.
    fn exchanged(&self, succeeded: bool) {
        let _ = succeeded;
    }
}

/// A word with hooks on its use.
#[derive(Debug)]
pub struct Watched<W, H> {
    word: W,
    watch: H,
}

impl<W: Word, H: Watch> Word for Watched<W, H> {
    type Bits = W::Bits;

    fn load(&self, order: Ordering) -> W::Bits {
        self.watch.load();
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: W::Bits,
        new: W::Bits,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Bits, W::Bits> {
        if !self.watch.exchange() {
            return Err(self.word.load(failure));
        }
        let result = self
            .word
            .compare_exchange_weak(current, new, success, failure);
        self.watch.exchanged(result.is_ok());
        result
    }
}

/// A word that counts how it is used.
pub type Counting<W> = Watched<W, Uses>;

/// Loads and swaps.
#[derive(Debug, Default)]
pub struct Uses {
    loads: AtomicU32,
    swaps: AtomicU32,
}

impl Watch for Uses {
    fn load(&self) {
        self.loads.fetch_add(1, Ordering::Relaxed);
    }

    fn exchange(&self) -> bool {
        self.swaps.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl<W> Counting<W> {
    /// Counts how this word is used.
    pub fn over(word: W) -> Self {
        let watch = Uses::default();
        Self { word, watch }
    }

    /// Takes the number of loads and swaps since the last call.
    pub fn taken(&self) -> (u32, u32) {
        let Uses { loads, swaps } = &self.watch;
        let take = |count: &AtomicU32| count.swap(0, Ordering::Relaxed);
        (take(loads), take(swaps))
    }
}

/// A word that lets other threads run between a load and its exchange, as few would get in there by chance. It
/// counts the exchanges that were lost to them, as a test without any shows nothing.
pub type Contended<W> = Watched<W, Contention>;

/// Determines the exchanges and loads that let other threads run first, and counts the lost exchanges.
#[derive(Debug)]
pub struct Contention {
    every: u64,
    every_load: Option<u64>,
    exchanges: AtomicU64,
    loads: AtomicU64,
    lost: AtomicU64,
}

impl Watch for Contention {
    fn load(&self) {
        if let Some(every) = self.every_load {
            let nth = self.loads.fetch_add(1, Ordering::Relaxed);
            if nth.is_multiple_of(every) {
                thread::yield_now();
            }
        }
    }

    fn exchange(&self) -> bool {
        let nth = self.exchanges.fetch_add(1, Ordering::Relaxed);
        if nth.is_multiple_of(self.every) {
            thread::yield_now();
        }
        true
    }

    fn exchanged(&self, succeeded: bool) {
        if !succeeded {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<W> Contended<W> {
    /// Lets other threads run before one in this many exchanges.
    pub fn over(word: W, every: u64) -> Self {
        let watch = Contention {
            every,
            every_load: None,
            exchanges: AtomicU64::new(0),
            loads: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        };
        Self { word, watch }
    }

    /// Lets other threads run before one in this many loads, too.
    #[must_use]
    pub fn and_before_loads(mut self, every: u64) -> Self {
        self.watch.every_load = Some(every);
        self
    }

    /// The number of exchanges that were lost.
    pub fn lost(&self) -> u64 {
        self.watch.lost.load(Ordering::Relaxed)
    }
}

/// A word whose exchange fails spuriously, seven times in eight.
pub type Moody<W> = Watched<W, Moods>;

/// Determines the exchanges that fail spuriously, and counts them.
#[derive(Debug)]
pub struct Moods {
    seed: u64,
    exchanges: AtomicU64,
    succeeded: AtomicU64,
    spurious: AtomicU64,
}

impl Watch for Moods {
    fn exchange(&self) -> bool {
        let n = self.exchanges.fetch_add(1, Ordering::Relaxed);
        let is_tried = nth(self.seed, n).is_multiple_of(8);
        if !is_tried {
            self.spurious.fetch_add(1, Ordering::Relaxed);
        }
        is_tried
    }

    fn exchanged(&self, succeeded: bool) {
        self.succeeded
            .fetch_add(u64::from(succeeded), Ordering::Relaxed);
    }
}

impl<W> Moody<W> {
    /// Lets exchanges fail, different ones for each seed.
    pub fn over(word: W, seed: u64) -> Self {
        let watch = Moods {
            seed,
            exchanges: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            spurious: AtomicU64::new(0),
        };
        Self { word, watch }
    }

    /// The number of exchanges that succeeded.
    pub fn succeeded(&self) -> u64 {
        self.watch.succeeded.load(Ordering::Relaxed)
    }

    /// The number of exchanges that failed spuriously.
    pub fn spurious(&self) -> u64 {
        self.watch.spurious.load(Ordering::Relaxed)
    }
}
