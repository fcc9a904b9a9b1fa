//! A call of a log, and how calls end.

use std::fmt;
use std::time::Duration;

use atomic_breaker::{Failure, Outcome};

/// What a call met: what its caller learned, or would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Met {
    /// The resource answered.
    Success,
    /// It failed, or did not answer in time.
    Failure,
    /// Nothing that says anything about the resource, such as a request that was wrong.
    Ignored,
}

/// How a call ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// What it met.
    pub met: Met,
    /// How long it took, in microseconds: at most 71 min.
    pub duration_us: u32,
    /// The `Retry-After` of a failure, in milliseconds; 0 if there was none.
    pub retry_after_ms: u32,
}

impl Ending {
    /// A call that ended after `duration`.
    ///
    /// # Panics
    /// If it took longer than [`Call::LONGEST`].
    #[must_use]
    pub const fn new(met: Met, duration: Duration) -> Self {
        let micros = duration.as_micros();
        assert!(
            micros <= Call::LONGEST.as_micros(),
            "a call takes at most 71 min"
        );
        Self {
            met,
            duration_us: micros as u32,
            retry_after_ms: 0,
        }
    }

    /// A failure whose resource asks its callers to wait, rounded up to milliseconds, at most 49 days.
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        let ms = time.as_nanos().div_ceil(1_000_000);
        self.retry_after_ms = u32::try_from(ms).unwrap_or(u32::MAX);
        self
    }

    /// What its caller reports to the breaker.
    pub(crate) const fn outcome(self) -> Outcome {
        match (self.met, self.retry_after_ms) {
            (Met::Success, _) => Outcome::Success,
            (Met::Ignored, _) => Outcome::Ignored,
            (Met::Failure, 0) => Outcome::Failure(Failure::new()),
            (Met::Failure, ms) => {
                Outcome::Failure(Failure::retry_after(Duration::from_millis(ms as u64)))
            }
        }
    }
}

/// A call of a log, in 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// When it began, in microseconds since the beginning of its log.
    pub start_us: u64,
    duration_us: u32,
    retry_after_ms: u32,
    /// The number of its key in the log's list of keys.
    pub key: u32,
    /// The number of the part of the log that its figures are counted in: 0 is the part without an incident.
    part: u16,
    met: Met,
    flags: u8,
}

const RETRY: u8 = 1;
const REJECTED: u8 = 2;

const _: () = assert!(size_of::<Call>() == 24);

impl Call {
    /// The longest call: 71 min, as many microseconds as fit 32 bits.
    pub const LONGEST: Duration = Duration::from_micros(u32::MAX as u64);

    /// A first try of the first key.
    #[must_use]
    pub const fn new(start_us: u64, ending: Ending) -> Self {
        Self {
            start_us,
            duration_us: ending.duration_us,
            retry_after_ms: ending.retry_after_ms,
            key: 0,
            part: 0,
            met: ending.met,
            flags: 0,
        }
    }

    /// A call of another key.
    #[must_use]
    pub const fn of_key(mut self, key: u32) -> Self {
        self.key = key;
        self
    }

    /// It is a further try of a request.
    #[must_use]
    pub const fn retry(mut self) -> Self {
        self.flags |= RETRY;
        self
    }

    /// A breaker rejected it when the log was written, so nobody knows what it would have met.
    #[must_use]
    pub const fn rejected(mut self) -> Self {
        self.flags |= REJECTED;
        self
    }

    /// The same call in another part of the log.
    pub(crate) const fn in_part(mut self, part: u16) -> Self {
        self.part = part;
        self
    }

    pub(crate) const fn part(&self) -> usize {
        self.part as usize
    }

    /// Whether it is a further try of a request.
    pub const fn is_retry(&self) -> bool {
        self.flags & RETRY != 0
    }

    /// Whether a breaker rejected it when the log was written. Its ending is then that of its neighbour.
    pub const fn was_rejected(&self) -> bool {
        self.flags & REJECTED != 0
    }

    /// How it ended.
    #[must_use]
    pub const fn ending(&self) -> Ending {
        Ending {
            met: self.met,
            duration_us: self.duration_us,
            retry_after_ms: self.retry_after_ms,
        }
    }

    /// The same call at another time.
    pub(crate) const fn at(mut self, start_us: u64) -> Self {
        self.start_us = start_us;
        self
    }

    /// The same call with another ending.
    #[must_use]
    pub const fn ending_with(mut self, ending: Ending) -> Self {
        self.met = ending.met;
        self.duration_us = ending.duration_us;
        self.retry_after_ms = ending.retry_after_ms;
        self
    }

    /// When it ended, in microseconds since the beginning of its log.
    pub const fn end_us(&self) -> u64 {
        self.start_us.saturating_add(self.duration_us as u64)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("start_us", &self.start_us)
            .field("key", &self.key)
            .field("ending", &self.ending())
            .field("is_retry", &self.is_retry())
            .field("was_rejected", &self.was_rejected())
            .finish_non_exhaustive()
    }
}
