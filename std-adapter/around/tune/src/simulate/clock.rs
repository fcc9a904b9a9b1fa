// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of a run, which stands still until the run moves it.

use std::cell::{Cell, RefCell};

use atomic_breaker::Clock;
use fastrand::Rng;

/// The time of one run, for its breakers. Its random numbers come from the seed of the run.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    us: Cell<u64>,
    random: RefCell<Rng>,
}

impl VirtualClock {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            us: Cell::new(0),
            random: RefCell::new(Rng::with_seed(seed)),
        }
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.us.get()
    }

    pub(crate) fn set_us(&self, us: u64) {
        self.us.set(us);
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> u32 {
        (self.us.get() / 1_000) as u32
    }

    fn entropy(&self) -> u32 {
        self.random.borrow_mut().u32(..)
    }

    fn random(&self) -> u32 {
        self.random.borrow_mut().u32(..)
    }
}
