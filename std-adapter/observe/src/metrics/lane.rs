//! Gives each thread a lane of its own to count in.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

/// How many threads have a lane of their own at the same time; further ones share one.
pub(super) const OWN: usize = 128;

const UNKNOWN: usize = usize::MAX;

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(UNKNOWN) };
    static HELD: Held = Held::take();
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
        MINE.set(HELD.try_with(|held| held.0).unwrap_or(OWN));
    }
    MINE.get()
}

/// A lane that is given to the next thread when this one ends, counts included.
struct Held(usize);

/// The lanes that no thread has. The lock orders the writes of two threads that have the same lane one after the other.
static FREE: Mutex<Free> = Mutex::new(Free {
    fresh: 0,
    returned: Vec::new(),
});

struct Free {
    /// Lanes from here on were never given away.
    fresh: usize,
    returned: Vec<usize>,
}

impl Held {
    fn take() -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = free.returned.pop().unwrap_or_else(|| {
            let lane = free.fresh;
            free.fresh = (lane + 1).min(OWN);
            lane
        });
        Self(lane)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Values that are dropped later may still count.
        MINE.set(OWN);
        if self.0 != OWN {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.returned.push(self.0);
        }
    }
}
