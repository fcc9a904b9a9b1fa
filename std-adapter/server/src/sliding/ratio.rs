// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tally.

use std::fmt;

use atomic_breaker::{
    Clock, ConstTally, Memory, Ratio, Tally, Verdict,
    tally::Call,
    word::{AtomicU64, Word},
};

use super::head::Span;
use super::margin::{self, Terms};
use super::shard::{Counted, Shard, Sum};
use super::thread_number::thread_number;
use crate::StdClock;

/// The share of failures within a sliding time window, for many cores: the [`Tally`] for [`Ratio::within`].
///
/// ```
/// use atomic_breaker_server::{Breaker, Config, Ratio, SlidingBreaker, SlidingRatio, StdClock};
/// use std::time::Duration;
/// // 5 in a row, or half of at least 20 within 10 s.
/// static SEARCH: SlidingBreaker = Breaker::builder(
///     Config::new()
///         .consecutive_failures(5)
///         .failure_ratio(Ratio::percent(50).within(Duration::from_secs(10)).min_calls(20)),
///     StdClock,
/// )
/// .const_tally(SlidingRatio::new(StdClock))
/// .build();
///
/// for _ in 0..10 {
///     SEARCH.acquire()?.success();
///     SEARCH.acquire()?.failure();
/// }
/// assert!(SEARCH.acquire().is_err(), "10 of 20, never two in a row");
/// # Ok::<(), atomic_breaker_server::Rejected>(())
/// ```
///
/// The rules define which share trips, over what time and from how many calls on; and which share of [slow
/// calls](Ratio::slow_percent), which are counted apart from failures then. A success adds to a count that the
/// thread shares with few others: it reads the [clock](Self::by) and makes one exchange. A failure also sums up all
/// shards, unless the previous sum showed that it cannot trip yet.
///
/// # How exact it is
///
/// - **The span slides by eighths.** It is divided into 8 slices, the last of which is still running: the calls that
///   count are those from the last 7/8 to 8/8 of the time. A slice is rounded up to whole milliseconds (and from 35
///   minutes on by up to 1/131072), so the 8/8 may be 7 ms longer.
/// - **No call is lost or counted twice**, even if threads race when a slice ends: it is counted in the slice for the
///   time that the thread read. There is one exception: a thread that was held up in its report while the breaker
///   tripped and closed again may make *one slice of its own shard* start again, with its call in it, which then does
///   not count.
/// - **All counts are halved** when those of one slice and shard pass 67 million calls or a million failures. The
///   shares stay the same; that slice weighs less than others. (Its slow calls may weigh less still, if threads race.)
/// - **A clock that steps back** by up to 65 s continues in the slice it was in. One that jumps forward makes the tally
///   forget the calls that are then old.
/// - **Milliseconds wrap after 49.7 days**: a tally that counted no call for exactly that time, or a multiple of it, or
///   up to one span longer, treats its old counts as recent.
///
/// # Other rules while running
///
/// The span is that of the [rules](crate::Rules) of each call. If they are replaced by rules with another span,
/// counting starts again with the first call under the new rules; earlier counts never count within the new span, nor
/// within the old one if that is set again. Other percentages and minimums apply to the existing counts. A tally
/// belongs to one breaker: two breakers over one tally, with spans or words of their own, make each other forget.
///
/// # Memory and shards
///
/// 128 bytes for each shard, 2 KiB for 16. Each thread keeps the one that it gets. With a tally per tenant, use fewer:
///
/// ```
/// use atomic_breaker_server::{Breaker, Config, Ratio, SlidingRatio, StdClock};
/// use std::time::Duration;
/// let one_shard = SlidingRatio::<_, 1>::by(StdClock);
/// assert_eq!(size_of_val(&one_shard), 128);
/// let ratio = Ratio::percent(50).within(Duration::from_secs(10));
/// let breaker = Breaker::builder(Config::new().failure_ratio(ratio), StdClock).tally(one_shard).build();
/// breaker.acquire()?.success();
/// assert_eq!(breaker.tally().seen_and_failed(), (1, 0));
/// # Ok::<(), atomic_breaker_server::Rejected>(())
/// ```
///
/// | parameter | what | default |
/// |---|---|---|
/// | `C` | [`Clock`]: the time of the calls; every success reads it | [`StdClock`] |
/// | `SHARDS` | how many shards, at least 1 | 16 |
/// | `W` | [`Word`] of 64 bits | `AtomicU64` |
pub struct SlidingRatio<C = StdClock, const SHARDS: usize = 16, W = AtomicU64> {
    shards: [Shard<W>; SHARDS],
    clock: C,
}

impl<C: Clock> SlidingRatio<C> {
    /// An empty tally with 16 shards. The clock must be that of the breaker: with another one it would count and forget at
    /// other times, as beside a clock that tests move or tokio pauses. So there is none by default:
    /// ```compile_fail,E0061
    /// let tally = atomic_breaker_server::SlidingRatio::new();
    /// ```
    pub const fn new(clock: C) -> Self {
        Self::by(clock)
    }
}

impl<C: Clock, const SHARDS: usize> SlidingRatio<C, SHARDS> {
    /// An empty tally with another number of shards. The coarse clock makes a success several times cheaper.
    pub const fn by(clock: C) -> Self {
        const { assert!(SHARDS > 0, "a tally without shards counts nothing") };
        Self {
            shards: [const {
                Shard {
                    head: AtomicU64::new(0),
                    slices: [const { AtomicU64::new(0) }; 8],
                    margin: AtomicU64::new(0),
                    slow: [const { AtomicU64::new(0) }; 4],
                }
            }; SHARDS],
            clock,
        }
    }
}

impl<C: Clock, const SHARDS: usize, W: Word<Bits = u64>> SlidingRatio<C, SHARDS, W> {
    /// A tally over words of any kind, such as those of a model checker: fourteen for each shard, with all bits zero if
    /// nothing is counted. Any bits are safe.
    pub fn over(clock: C, mut word: impl FnMut() -> W) -> Self {
        const { assert!(SHARDS > 0, "a tally without shards counts nothing") };
        Self {
            shards: std::array::from_fn(|_| Shard {
                head: word(),
                slices: std::array::from_fn(|_| word()),
                margin: word(),
                slow: std::array::from_fn(|_| word()),
            }),
            clock,
        }
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// Returns the calls within the span up to now, and how many of them failed: for a page that shows the state. The
    /// span is that of the rules under which the last call was counted. While other threads count, each shard is seen
    /// at a slightly different time.
    pub fn seen_and_failed(&self) -> (u64, u64) {
        let sum = self.sum_now::<false>();
        (sum.calls, sum.failures)
    }

    /// Returns how many of the [calls within the span](Self::seen_and_failed) were slow, where slow calls have a [share of
    /// their own](Ratio::slow_percent).
    pub fn slow(&self) -> u64 {
        self.sum_now::<true>().slow
    }

    fn sum_now<const SLOW: bool>(&self) -> Sum {
        let now_ms = self.clock.now_ms();
        let heads = self.shards.iter().map(Shard::head);
        let live = heads.filter(|head| !head.is_over(now_ms));
        // Shards in which no thread has counted since may still have other spans.
        let last = live.min_by_key(|head| now_ms.wrapping_sub(head.start_ms()));
        last.map_or(Sum::default(), |head| {
            self.sum::<SLOW>(head.span(), None, now_ms).0
        })
    }

    /// `SLOW`: of slow calls as well, which takes some more loads.
    fn sum<const SLOW: bool>(&self, span: Span, epoch: Option<u16>, now_ms: u32) -> (Sum, u32) {
        let (mut all, mut left) = (Sum::default(), u32::MAX);
        for shard in &self.shards {
            let (sum, left_ms) = shard.sum::<SLOW>(span, epoch, now_ms);
            all.calls += sum.calls;
            all.failures += sum.failures;
            if SLOW {
                all.slow += sum.slow;
            }
            left = left.min(left_ms);
        }
        (all, left)
    }

    /// The word of the margin.
    fn margin(&self) -> &W {
        &self.shards[0].margin
    }

    /// Counts a success, with one exchange if possible.
    #[inline(never)]
    fn record_success(&self, epoch: u16, ratio: &Ratio) {
        let Some(within_ms) = ratio.within_ms() else {
            return;
        };
        let (span, now_ms) = (Span::of(within_ms), self.clock.now_ms());
        let shard = self.shard();
        if !shard.count_success(epoch, span, now_ms) {
            // It does not trip.
            let _ = self.record_in(shard, (Call::success(epoch), span, now_ms), ratio);
        }
    }

    #[inline(never)]
    fn record_other(&self, call: Call, ratio: &Ratio) -> Verdict {
        let Some(within_ms) = ratio.within_ms() else {
            return Verdict::Keep;
        };
        let (span, now_ms) = (Span::of(within_ms), self.clock.now_ms());
        self.record_in(self.shard(), (call, span, now_ms), ratio)
    }

    /// The shard of this thread.
    #[inline]
    fn shard(&self) -> &Shard<W> {
        &self.shards[thread_number() % SHARDS]
    }

    fn record_in(
        &self,
        shard: &Shard<W>,
        (call, span, now_ms): (Call, Span, u32),
        ratio: &Ratio,
    ) -> Verdict {
        let slow_percent = ratio.trips_at_slow_percent().filter(|_| call.is_slow);
        let call = Counted {
            epoch: call.epoch,
            failed: call.failure.is_some(),
            slow: slow_percent.is_some(),
            span,
            now_ms,
        };
        if shard.count(call) {
            self.turned(span, now_ms);
        }
        let fails = call.failed && self.judge(ratio, call) == Verdict::Trip;
        let is_slow = slow_percent.is_some_and(|percent| self.are_slow(ratio, percent, call));
        if fails || is_slow {
            Verdict::Trip
        } else {
            Verdict::Keep
        }
    }

    /// Runs once per slice and shard.
    #[cold]
    #[inline(never)]
    fn turned(&self, span: Span, now_ms: u32) {
        for shard in &self.shards {
            shard.retire(span, now_ms);
        }
        margin::revoke(self.margin());
    }

    /// Decides what a counted failure means.
    #[cold]
    #[inline(never)]
    fn judge(&self, ratio: &Ratio, call: Counted) -> Verdict {
        let Counted {
            span,
            now_ms,
            epoch,
            ..
        } = call;
        let terms = Terms::new(ratio.trips_at_basis_points(), epoch, span);
        let Err(before) = margin::spend(self.margin(), terms, now_ms) else {
            return Verdict::Keep;
        };
        let (sum, left_ms) = self.sum::<false>(span, Some(epoch), now_ms);
        let has_enough = sum.calls >= u64::from(ratio.needed_calls());
        if has_enough && terms.are_reached(sum) {
            // There may be a margin for another share, from which this failure was not taken off.
            margin::revoke(self.margin());
            return Verdict::Trip;
        }
        margin::grant(
            self.margin(),
            terms,
            before,
            terms.margin(sum),
            (now_ms, left_ms),
        );
        Verdict::Keep
    }

    /// Returns whether slow calls reach their share, with one that has been counted. Each of them looks at all the
    /// shards: it has taken so long that this does not matter. (A margin would be too large: a call is counted before
    /// it is counted as slow, and a thread that looks in between sees one that seems not to be slow.)
    #[cold]
    #[inline(never)]
    fn are_slow(&self, ratio: &Ratio, percent: u32, call: Counted) -> bool {
        let (sum, _) = self.sum::<true>(call.span, Some(call.epoch), call.now_ms);
        sum.calls >= u64::from(ratio.needed_calls())
            && sum.slow * 100 >= sum.calls * u64::from(percent)
    }
}

impl<C: Clock, const SHARDS: usize, W: Word<Bits = u64>> Tally for SlidingRatio<C, SHARDS, W> {
    #[inline]
    fn memory(&self) -> Memory {
        Self::MEMORY
    }

    // A success is known as one where it is reported.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        let Some(ratio) = &ratio else {
            return Verdict::Keep;
        };
        let is_plain = call.failure.is_none() && !call.is_slow;
        if is_plain {
            self.record_success(call.epoch, ratio);
            return Verdict::Keep;
        }
        self.record_other(call, ratio)
    }

    fn clear(&self) {
        for shard in &self.shards {
            shard.forget();
        }
        margin::revoke(self.margin());
    }
}

impl<C: Clock, const SHARDS: usize, W: Word<Bits = u64>> ConstTally for SlidingRatio<C, SHARDS, W> {
    const MEMORY: Memory = Memory::NONE.max_within_ms(1 << 31).counts_slow();
}

impl<C: Clock + Default, const SHARDS: usize> Default for SlidingRatio<C, SHARDS> {
    fn default() -> Self {
        Self::by(C::default())
    }
}

impl<C: Clock, const SHARDS: usize, W: Word<Bits = u64>> fmt::Debug for SlidingRatio<C, SHARDS, W> {
    /// Shows [what is counted](Self::seen_and_failed).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seen, failed) = self.seen_and_failed();
        f.debug_struct("SlidingRatio")
            .field("seen", &seen)
            .field("failed", &failed)
            .finish_non_exhaustive()
    }
}
