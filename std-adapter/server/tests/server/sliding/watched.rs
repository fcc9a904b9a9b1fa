// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that say when they are used: to count that, to let another call go first, or to fail for no reason.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker_server::{ManualClock, SlidingRatio, word::Word};

pub(super) type Watched<const SHARDS: usize> = SlidingRatio<ManualClock, SHARDS, WatchedWord>;

/// The part of a word in its shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Head,
    Slice,
    Margin,
    Slow,
}

/// One access to a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) shard: usize,
    pub(super) part: Part,
    pub(super) is_exchange: bool,
}

pub(super) struct WatchedWord {
    word: AtomicU64,
    shard: usize,
    part: Part,
}

/// A watch, which returns whether an exchange fails for no reason.
type Watch = Box<dyn FnMut(Use) -> bool>;

thread_local!(static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) });

impl WatchedWord {
    /// Returns whether the exchange fails; the watch itself uses words unwatched.
    fn fails(&self, is_exchange: bool) -> bool {
        let Some(mut watch) = WATCH.take() else {
            return false;
        };
        let (shard, part) = (self.shard, self.part);
        let fails = watch(Use {
            shard,
            part,
            is_exchange,
        });
        WATCH.set(Some(watch));
        fails
    }
}

impl Word for WatchedWord {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        self.fails(false);
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        if self.fails(true) {
            return Err(self.word.load(failure));
        }
        self.word.compare_exchange(current, new, success, failure)
    }
}

/// An empty tally. Each shard has a head, eight slices, a margin, and the slow calls in four words, in this order.
pub(super) fn tally<const SHARDS: usize>(now_ms: u32) -> Watched<SHARDS> {
    let mut made = 0;
    SlidingRatio::over(ManualClock::starting_at(now_ms), || {
        let (shard, part) = (made / 14, made % 14);
        made += 1;
        WatchedWord {
            word: AtomicU64::new(0),
            shard,
            part: match part {
                0 => Part::Head,
                9 => Part::Margin,
                10..=13 => Part::Slow,
                _ => Part::Slice,
            },
        }
    })
}

/// Calls `watch` before each use of a word by this thread; where it answers `true`, an exchange fails.
pub(super) fn watched<R>(watch: impl FnMut(Use) -> bool + 'static, call: impl FnOnce() -> R) -> R {
    WATCH.set(Some(Box::new(watch)));
    let result = call();
    WATCH.take();
    result
}

/// The uses of words by a call.
pub(super) fn uses(call: impl FnOnce()) -> Vec<Use> {
    let uses = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&uses);
    let note = move |it| {
        noted.borrow_mut().push(it);
        false
    };
    watched(note, call);
    uses.take()
}

/// Does something else just before the use of a word that so many others come before. Answers whether there was such a
/// use.
pub(super) fn interrupted(
    before: usize,
    call: impl FnOnce(),
    other: impl FnOnce() + 'static,
) -> bool {
    let is_done = Rc::new(Cell::new(false));
    let done = Rc::clone(&is_done);
    let (mut left, mut other) = (before, Some(other));
    let interrupt = move |_| {
        if left == 0 {
            if let Some(other) = other.take() {
                other();
                done.set(true);
            }
        }
        left = left.saturating_sub(1);
        false
    };
    watched(interrupt, call);
    is_done.get()
}
