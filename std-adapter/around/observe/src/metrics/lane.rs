// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gives each thread a lane of its own to count in.

use std::cell::Cell;
use std::sync::Mutex;

use crate::lock;

/// The number of threads that have a lane of their own at the same time; further ones share one.
pub(super) const OWN: usize = 128;

const UNKNOWN: usize = usize::MAX;

/// A bit for each lane that a thread has. The lock orders the writes of two threads that have the same lane one after the
/// other.
static HELD: Mutex<u128> = Mutex::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(UNKNOWN) };
    static HOLD: LaneHold = LaneHold::take();
}

/// The lane of this thread, the same in all counters, if it is known to have one of its own: below [`OWN`], and no
/// other thread writes there. Otherwise a greater number.
#[inline]
pub(super) fn known() -> usize {
    MINE.get()
}

/// The lane of this thread: below [`OWN`], or [`OWN`] itself, where all others write.
#[cold]
pub(super) fn find() -> usize {
    if MINE.get() == UNKNOWN {
        // Or it is too late in the thread's life to hold one.
        MINE.set(HOLD.try_with(|hold| hold.0).unwrap_or(OWN));
    }
    MINE.get()
}

/// A lane that is given to another thread when this one ends, counts included.
struct LaneHold(usize);

impl LaneHold {
    fn take() -> Self {
        let mut held = lock(&HELD);
        let lane = held.trailing_ones() as usize;
        if lane < OWN {
            *held |= 1 << lane;
        }
        Self(lane)
    }
}

impl Drop for LaneHold {
    fn drop(&mut self) {
        // Values that are dropped later may still count.
        MINE.set(OWN);
        if self.0 < OWN {
            *lock(&HELD) &= !(1 << self.0);
        }
    }
}
