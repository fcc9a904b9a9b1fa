// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of one instance, which differs from those of the others, and jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use atomic_breaker_http::Clock;
use test_support::dice::Dice;
use tokio::time::Instant;

/// Clones are the same clock.
#[derive(Clone, Debug)]
pub(crate) struct InstanceClock(Arc<Readings>);

#[derive(Debug)]
struct Readings {
    began: Instant,
    ahead_ms: AtomicU32,
    drawn: AtomicU64,
}

impl InstanceClock {
    /// Half of all clocks wrap within the first days.
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let ahead_ms = if dice.percent(50) {
            0_u32.wrapping_sub(dice.within(0..400_000_000))
        } else {
            dice.next() as u32
        };
        Self(Arc::new(Readings {
            began: Instant::now(),
            ahead_ms: ahead_ms.into(),
            drawn: dice.next().into(),
        }))
    }

    /// Steps forward, or back if negative.
    pub(crate) fn jump(&self, ms: i32) {
        let ahead_ms = self.0.ahead_ms.load(Relaxed);
        let ahead_ms = ahead_ms.wrapping_add_signed(ms);
        self.0.ahead_ms.store(ahead_ms, Relaxed);
    }
}

impl Clock for InstanceClock {
    fn now_ms(&self) -> u32 {
        let passed = self.0.began.elapsed().as_millis() as u32;
        self.0.ahead_ms.load(Relaxed).wrapping_add(passed)
    }

    fn entropy(&self) -> u32 {
        self.random()
    }

    fn random(&self) -> u32 {
        let mut dice = Dice::new(self.0.drawn.load(Relaxed));
        let drawn = dice.next();
        self.0.drawn.store(drawn, Relaxed);
        drawn as u32
    }
}
