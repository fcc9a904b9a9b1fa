// SPDX-License-Identifier: MIT OR Apache-2.0
//! A number for each thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of this thread, assigned in turn when the thread first asks: chooses the place of a thread among several,
/// so that threads rarely write to the same one.
#[inline]
pub(crate) fn thread_number() -> usize {
    thread_local!(static MINE: Cell<Option<usize>> = const { Cell::new(None) });
    MINE.with(|mine| mine.get().unwrap_or_else(|| draw(mine)))
}

#[cold]
fn draw(mine: &Cell<Option<usize>>) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    mine.set(Some(number));
    number
}
