//! Which shard a thread counts in.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of this thread, the same in every tally: assigned in turn when the thread first asks.
#[inline]
pub(super) fn mine() -> usize {
    MINE.with(|mine| match mine.get() {
        Some(number) => number,
        None => draw(mine),
    })
}

#[cold]
fn draw(mine: &Cell<Option<usize>>) -> usize {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    mine.set(Some(number));
    number
}
