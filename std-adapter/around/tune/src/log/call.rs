// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call of a log.

use std::fmt;
use std::time::Duration;

use crate::simulate::engine::{Completion, PlannedCall};
use atomic_breaker::{Failure, Outcome};

/// A call of a log, in 24 bytes.
///
/// Each failure weighs 1, and trips nothing on its own: a log keeps of a failure only how long the resource asks to be left
/// alone (`Retry-After`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LoggedCall {
    /// The time at which the call began, in microseconds since the beginning of its log.
    pub start_us: u64,
    duration_us: u32,
    /// In milliseconds; 0 if the failure asks for nothing.
    retry_after_ms: u32,
    /// The number of the call's key in the log's list of keys.
    pub key: u32,
    /// The number of the fold whose figures the call is counted in: 0 is the fold without an incident.
    fold: u16,
    flags: u8,
}

const RETRY: u8 = 1;
const REJECTED: u8 = 2;
const FAILED: u8 = 4;
const IGNORED: u8 = 8;
const CANCELLED: u8 = 16;

const _: () = assert!(size_of::<LoggedCall>() == 24);

impl LoggedCall {
    /// A first try of the first key.
    #[must_use]
    pub fn new(start_us: u64, completion: Completion) -> Self {
        let call = Self {
            start_us,
            duration_us: 0,
            retry_after_ms: 0,
            key: 0,
            fold: 0,
            flags: 0,
        };
        call.completed(completion)
    }

    /// The call with another key.
    #[must_use]
    pub const fn key(mut self, key: u32) -> Self {
        self.key = key;
        self
    }

    /// The call as a further try of a request.
    #[must_use]
    pub const fn retry(mut self) -> Self {
        self.flags |= RETRY;
        self
    }

    /// The call as one that a breaker rejected when the log was written, so that its completion is not known.
    #[must_use]
    pub const fn rejected(mut self) -> Self {
        self.flags |= REJECTED;
        self
    }

    /// The call with another completion.
    #[must_use]
    pub fn completed(mut self, completion: Completion) -> Self {
        let (flag, retry_after) = match completion.outcome {
            Outcome::Success => (0, None),
            Outcome::Ignored if completion.is_cancelled => (IGNORED | CANCELLED, None),
            Outcome::Ignored => (IGNORED, None),
            Outcome::Failure(failure) => (FAILED, failure.min_open_time()),
        };
        self.flags = self.flags & (RETRY | REJECTED) | flag;
        self.duration_us = completion.duration_us;
        self.retry_after_ms = retry_after.map_or(0, |time| time.as_millis() as u32);
        self
    }

    pub(crate) const fn in_fold(mut self, fold: u16) -> Self {
        self.fold = fold;
        self
    }

    pub(crate) const fn fold(&self) -> u16 {
        self.fold
    }

    /// Returns whether the call is a further try of a request.
    pub const fn is_retry(&self) -> bool {
        self.flags & RETRY != 0
    }

    /// Returns whether a breaker rejected the call when the log was written. Its completion is then that of its
    /// neighbour.
    pub const fn was_rejected(&self) -> bool {
        self.flags & REJECTED != 0
    }

    /// The end of the call.
    #[must_use]
    #[inline]
    pub const fn completion(&self) -> Completion {
        let outcome = match (self.flags & (FAILED | IGNORED), self.retry_after_ms) {
            (0, _) => Outcome::Success,
            (FAILED, 0) => Outcome::Failure(Failure::new()),
            (FAILED, ms) => {
                Outcome::Failure(Failure::retry_after(Duration::from_millis(ms as u64)))
            }
            _ => Outcome::Ignored,
        };
        Completion {
            outcome,
            duration_us: self.duration_us,
            is_cancelled: self.flags & CANCELLED != 0,
        }
    }

    /// The call as a run plays it, with its fold as tag.
    #[inline]
    pub(crate) const fn played(self) -> PlannedCall {
        PlannedCall {
            start_us: self.start_us,
            key: self.key,
            completion: self.completion(),
            tag: self.fold,
        }
    }
}

impl fmt::Debug for LoggedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggedCall")
            .field("start_us", &self.start_us)
            .field("key", &self.key)
            .field("completion", &self.completion())
            .field("is_retry", &self.is_retry())
            .field("was_rejected", &self.was_rejected())
            .finish_non_exhaustive()
    }
}
