//! The last calls as a bit history in one more atomic word.

use super::{Call, Tally, Verdict};
use crate::config::{ConfigError, check_tally};
use crate::word::{self, Bits, NativeWord, Word};

/// The share of failures among the last calls, in one atomic word.
///
/// ```text
/// ┌──────────────────────────────────────────┬───────┐
/// │ 0…0 1 h h h … h   (1 marks the oldest)   │ epoch │
/// └──────────────────────────────────────────┴───────┘
/// ```
///
/// Each call shifts one bit in (1 = failed). Next to the history stand the low four bits of the
/// epoch. A call of another epoch begins a new history, so one compare-and-swap both forgets what
/// was learned before a trip and records. A late outcome never mixes with newer ones; at worst, if
/// a transition comes between its look at the word and its record here, it makes the newer history
/// begin again. That leaves room for the last 59 calls (27 in a 32-bit word).
///
/// Recording costs a compare-and-swap per closed call, on memory that all callers share; take the
/// word's own rules where that matters.
///
/// ```
/// use atomic_breaker::{Breaker, Config, LastCalls, ManualClock};
///
/// // Half of the last 20 calls, or 8 failures in a row.
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new().consecutive_failures(8), &clock)
///     .with_tally(LastCalls::new(20, 10, 50));
///
/// for _ in 0..5 {
///     breaker.acquire().unwrap().success();
///     breaker.acquire().unwrap().failure();
/// }
/// assert!(breaker.acquire().is_err(), "5 of 10");
/// ```
#[derive(Debug)]
pub struct LastCalls<W = NativeWord> {
    word: W,
    calls: u32,
    min_calls: u32,
    percent: u32,
}

const EPOCH_BITS: u32 = 4;
const EPOCH_MASK: u64 = (1 << EPOCH_BITS) - 1;

impl LastCalls {
    /// Trips when at least `percent` of the last `calls` calls failed, once `min_calls` were seen.
    ///
    /// # Panics
    /// At compile time in a `const`: when `calls` is not within 1 to
    /// [`MAX_CALLS`](LastCalls::MAX_CALLS), `min_calls` not within 1 to `calls`, or `percent` not
    /// within 1 to 100. For numbers from outside there is [`try_over`](LastCalls::try_over).
    pub const fn new(calls: u32, min_calls: u32, percent: u32) -> Self {
        Self::over(NativeWord::new(0), calls, min_calls, percent)
    }
}

impl<W: Word> LastCalls<W> {
    /// The largest number of calls that can be remembered: 59 in a 64-bit word, 27 in a 32-bit
    /// word.
    pub const MAX_CALLS: u32 = size_of::<W::Bits>() as u32 * 8 - EPOCH_BITS - 1;

    /// [`new`](LastCalls::new) over a word of any kind. All bits zero is an empty history.
    ///
    /// # Panics
    /// At compile time in a `const`, as [`new`](LastCalls::new).
    pub const fn over(word: W, calls: u32, min_calls: u32, percent: u32) -> Self {
        if let Err(error) = check_tally(calls, min_calls, percent, Self::MAX_CALLS) {
            panic!("{}", error.message());
        }
        Self {
            word,
            calls,
            min_calls,
            percent,
        }
    }

    /// [`over`](LastCalls::over) for numbers that are not known to be right.
    ///
    /// # Errors
    /// [`ConfigError`] says which number is out of range.
    pub fn try_over(
        word: W,
        calls: u32,
        min_calls: u32,
        percent: u32,
    ) -> Result<Self, ConfigError> {
        check_tally(calls, min_calls, percent, Self::MAX_CALLS)?;
        Ok(Self::over(word, calls, min_calls, percent))
    }

    /// How many calls are remembered, and how many of them failed.
    ///
    /// ```
    /// use atomic_breaker::{LastCalls, Tally, tally::Call};
    ///
    /// let last = LastCalls::new(10, 5, 50);
    /// let _ = last.record(Call::failure(0, 1));
    /// let _ = last.record(Call::success(0));
    /// assert_eq!(last.seen_and_failed(), (2, 1));
    /// ```
    pub fn seen_and_failed(&self) -> (u32, u32) {
        History::unpack(word::read(&self.word)).seen_and_failed()
    }

    fn verdict(&self, history: History) -> Verdict {
        let (seen, failed) = history.seen_and_failed();
        if seen >= self.min_calls && failed * 100 >= seen * self.percent {
            Verdict::Trip
        } else {
            Verdict::Keep
        }
    }
}

impl<W: Word> Tally for LastCalls<W> {
    fn record(&self, call: Call) -> Verdict {
        let epoch = u64::from(call.epoch) & EPOCH_MASK;
        let mut bits = word::read(&self.word);
        loop {
            let next = History::unpack(bits).push(epoch, call.failure.is_some(), self.calls);
            match word::swap(&self.word, bits, next.pack()) {
                Ok(()) => return self.verdict(next),
                Err(found) => bits = found,
            }
        }
    }
}

/// The unpacked word. Total: every pattern is a history, if not always one that was recorded.
#[derive(Clone, Copy)]
struct History {
    epoch: u64,
    /// A leading one, then a bit per call, the last call lowest. 0 means empty, as 1 does.
    calls: u64,
}

impl History {
    fn unpack<B: Bits>(bits: B) -> Self {
        let bits = bits.to_u64();
        Self {
            epoch: bits & EPOCH_MASK,
            calls: bits >> EPOCH_BITS,
        }
    }

    fn pack<B: Bits>(self) -> B {
        B::from_u64(self.calls << EPOCH_BITS | self.epoch)
    }

    /// The history with one more call; a new history when the call is of another epoch.
    fn push(self, epoch: u64, failed: bool, limit: u32) -> Self {
        let calls = if epoch == self.epoch {
            self.calls.max(1)
        } else {
            1
        };
        let longer = calls << 1 | u64::from(failed);
        let full = 1 << limit;
        let calls = if longer > full * 2 - 1 {
            longer & (full - 1) | full
        } else {
            longer
        };
        Self { epoch, calls }
    }

    fn seen_and_failed(self) -> (u32, u32) {
        let seen = self.calls.max(1).ilog2();
        (seen, self.calls.count_ones().saturating_sub(1))
    }
}
