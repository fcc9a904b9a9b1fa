// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counts of the threads that share a shard.

use std::sync::atomic::Ordering;

use atomic_breaker::word::Word;

use super::head::{Head, SLICES, Span};
use super::slice::{Slice, Tag};
use super::slow::Slow;

/// The counts of some of the threads, on two cache lines of its own, because processors fetch them in pairs.
/// The last words are the [margin](super::margin), which is used in the first shard only, and the slow calls; there is room
/// for them.
///
/// # What may change
///
/// | word | change | made by |
/// |---|---|---|
/// | head | to the slice at this time | a call that is the first of it |
/// | a slice | one more call, in it or instead of an old one | a call |
/// | a slice | empty | the call that moved the head past it · forgetting everything |
/// | slow calls | one more, after the call has been counted in its slice | a slow call |
/// | | those of one slice fewer | as for the slice |
///
/// All are compare-and-swaps of a whole word. A slice is identified by its number, so a late change notices
/// that it is late: nothing is counted twice, or in the wrong place.
#[repr(C, align(128))]
pub(super) struct Shard<W> {
    pub(super) head: W,
    pub(super) slices: [W; SLICES as usize],
    pub(super) margin: W,
    pub(super) slow: [W; SLICES as usize / 2],
}

/// A call to be counted.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) epoch: u16,
    pub(super) failed: bool,
    pub(super) slow: bool,
    pub(super) span: Span,
    pub(super) now_ms: u32,
}

/// The calls that were counted within the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) slow: u64,
}

impl<W: Word<Bits = u64>> Shard<W> {
    /// Counts a success if that takes one exchange: in a slice that has already begun and is not full, while
    /// no other thread counts at the same moment.
    #[inline]
    pub(super) fn count_success(&self, epoch: u16, span: Span, now_ms: u32) -> bool {
        let head = Head(self.head.load(Ordering::Relaxed));
        if !head.is_current(span, now_ms) {
            return false;
        }
        let number = head.number();
        let word = &self.slices[number as usize % SLICES as usize];
        let seen = Slice(word.load(Ordering::Relaxed));
        let next = seen.with_success(Tag::new(epoch, number));
        next.is_some_and(|next| swap(word, seen.0, next.0).is_ok())
    }

    /// Counts a call, and returns whether it began a slice.
    pub(super) fn count(&self, call: Counted) -> bool {
        // Acquire: who sees what is counted here sees the head that another call moved to this slice. (Not shown by loom,
        // in whose single order a call that has moved the head is before one that counts in its slice in any case.)
        let head = Head(self.head.load(Ordering::Acquire));
        if head.is_current(call.span, call.now_ms) && self.count_in(head, call) {
            return false;
        }
        self.count_with_turn(call)
    }

    /// Counts in a slice, unless that has been replaced by a younger one.
    #[expect(
        clippy::inline_always,
        reason = "a failure takes ten instructions less"
    )]
    #[inline(always)]
    fn count_in(&self, head: Head, call: Counted) -> bool {
        let number = head.number();
        let tag = Tag::new(call.epoch, number);
        let word = &self.slices[number as usize % SLICES as usize];
        // Acquire, as the failing exchange: who finds a younger slice here finds the head that led to it, too.
        let mut seen = Slice(word.load(Ordering::Acquire));
        loop {
            let is_late = seen.tag() != tag && !seen.is_empty() && seen.age_at(number).is_none();
            if is_late && self.head.load(Ordering::Relaxed) != head.0 {
                return false;
            }
            if seen.is_full(call.failed) && seen.tag() == tag {
                self.halve_slow(tag);
            }
            match swap(word, seen.0, seen.with_call(tag, call.failed).0) {
                Ok(()) => break,
                Err(found) => seen = Slice(found),
            }
        }
        if call.slow {
            self.count_slow(tag);
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn count_slow(&self, tag: Tag) {
        self.change_slow(tag, |slow, word| slow.with_one(word));
    }

    /// Before the calls, so that the share of slow calls is never too high. If it is halved twice, because the exchange of the
    /// calls fails, those of this slice count less.
    #[cold]
    #[inline(never)]
    fn halve_slow(&self, tag: Tag) {
        self.change_slow(tag, |slow, word| Some(slow.halved(word)));
    }

    /// Changes the count of the slow calls of a slice.
    fn change_slow(&self, tag: Tag, to: impl Fn(Slow, u64) -> Option<u64>) {
        let (slow, word) = (Slow::of(tag), &self.slow[Slow::word(tag.number())]);
        let mut seen = word.load(Ordering::Acquire);
        while let Some(next) = to(slow, seen).filter(|&next| next != seen) {
            match swap(word, seen, next) {
                Ok(()) => return,
                Err(found) => seen = found,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn count_with_turn(&self, call: Counted) -> bool {
        let mut is_begun = false;
        loop {
            let head = Head(self.head.load(Ordering::Acquire));
            let (next, begun) = head.at(call.span, call.now_ms);
            if next != head {
                if swap(&self.head, head.0, next.0).is_err() {
                    continue;
                }
                self.empty_before(next, begun);
                is_begun = true;
            }
            if self.count_in(next, call) {
                return is_begun;
            }
        }
    }

    /// Empties the words of the slices that begin up to this one, because there may have been no calls in
    /// them.
    fn empty_before(&self, head: Head, begun: u32) {
        for back in 0..u64::from(begun) {
            let number = head.number().wrapping_sub(back) % 512;
            self.empty(number as usize, |slice| {
                slice.age_at(number).is_some_and(|age| age > 0)
            });
            self.change_slow(Tag::new(0, number), |slow, word| {
                Some(slow.without_old(word))
            });
        }
    }

    /// Empties the word of a slice.
    fn empty(&self, number: usize, is_old: impl Fn(Slice) -> bool) {
        let word = &self.slices[number % SLICES as usize];
        let mut seen = Slice(word.load(Ordering::Relaxed));
        while !seen.is_empty() && is_old(seen) {
            match swap(word, seen.0, Slice::EMPTY.0) {
                Ok(()) => return,
                Err(found) => seen = Slice(found),
            }
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        for number in 0..SLICES {
            self.empty(number as usize, |_| true);
        }
        for word in &self.slow {
            let mut seen = word.load(Ordering::Relaxed);
            while seen != 0 {
                seen = swap(word, seen, 0).err().unwrap_or(0);
            }
        }
    }

    /// Forgets everything if all of it is old, so that a shard whose threads are gone is not mistaken for a
    /// recent one when the clock has wrapped; also if it has another span, which may be set again.
    pub(super) fn retire(&self, span: Span, now_ms: u32) {
        let head = Head(self.head.load(Ordering::Relaxed));
        let is_old = head.span() != span || head.is_over(now_ms);
        if head == head.retired() || !is_old {
            return;
        }
        // If the head is another one now, a faster thread is at work here.
        while swap(&self.head, head.0, head.retired().0) == Err(head.0) {}
    }

    pub(super) fn head(&self) -> Head {
        Head(self.head.load(Ordering::SeqCst))
    }

    /// The calls that were counted within the span up to now, in one epoch or in any, and the milliseconds until some
    /// of them leave the span. `SLOW`: of slow calls as well, which takes some more loads.
    pub(super) fn sum<const SLOW: bool>(
        &self,
        span: Span,
        epoch: Option<u16>,
        now_ms: u32,
    ) -> (Sum, u32) {
        let (head, mut sum) = (self.head(), Sum::default());
        if head.span() != span || head.is_over(now_ms) {
            return (sum, span.slice_ms());
        }
        let (passed, ms) = head.passed(now_ms);
        let now = head.number() + u64::from(passed);
        for (index, word) in self.slices.iter().enumerate() {
            // Before the slice, in which each of them was counted before: so there are never more slow calls than calls.
            let slow = if SLOW {
                self.slow[Slow::word(index as u64)].load(Ordering::SeqCst)
            } else {
                0
            };
            let slice = Slice(word.load(Ordering::SeqCst));
            // A slice may be younger than the head was, if other threads were faster.
            let is_within = slice.age_at(now).is_none_or(|age| age < u64::from(SLICES));
            let is_meant = epoch.is_none_or(|epoch| slice.is_of(Tag::new(epoch, 0)));
            if !slice.is_empty() && is_within && is_meant {
                sum.calls += slice.calls();
                sum.failures += slice.failures();
                if SLOW {
                    sum.slow += Slow::of(slice.tag()).count(slow);
                }
            }
        }
        (sum, span.slice_ms() - ms)
    }
}

/// The compare-and-swap. It is in a single order with the loads of [`Shard::sum`], so that of two failures
/// counted at once, at least one sees both.
#[inline]
fn swap<W: Word<Bits = u64>>(word: &W, seen: u64, next: u64) -> Result<(), u64> {
    word.compare_exchange_weak(seen, next, Ordering::SeqCst, Ordering::Acquire)
        .map(drop)
}
