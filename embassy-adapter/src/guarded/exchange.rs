// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer that a stream owes, its time, and the wait for it.

use core::future::poll_fn;
use core::pin::pin;
use core::sync::atomic::Ordering::Relaxed;
use core::task::Poll;

use atomic_breaker::wait::{HasTimer, TimeLimit, Timer as _};
use atomic_breaker::word::AtomicU32;
use atomic_breaker::{AnyBreaker, Clock as _, Outcome};
use embedded_io::{Error, ErrorKind};

use super::{GuardedError, report};

/// The answer that a stream owes: from a write on, until something is read. Each `GuardedIo` has one of its own; the
/// two halves of one stream, in two guards, [share](super::GuardedIo::half_of) one, in a `static`.
#[derive(Debug)]
pub struct Exchange {
    /// The time of the write that is to be answered, in milliseconds, odd; 0 if nothing is owed.
    owed_since: AtomicU32,
    /// Nonzero if a reader has begun since.
    is_read: AtomicU32,
}

impl Default for Exchange {
    fn default() -> Self {
        Self::new()
    }
}

impl Exchange {
    /// Nothing is owed.
    pub const fn new() -> Self {
        Self {
            owed_since: AtomicU32::new(0),
            is_read: AtomicU32::new(0),
        }
    }

    /// Something was written. Any earlier write is part of the same command, unless its answer is waited for already:
    /// commands that follow each other fast do not put off the end of the first one's limit.
    pub(super) fn owe(&self, now_ms: u32) {
        if !self.is_owed() || self.is_read.load(Relaxed) == 0 {
            self.owed_since.store(now_ms | 1, Relaxed);
            self.is_read.store(0, Relaxed);
        }
    }

    /// The command goes out only now.
    pub(super) fn flushed(&self, now_ms: u32) {
        if self.is_owed() {
            self.owe(now_ms);
        }
    }

    /// A read begins.
    pub(super) fn begin_read(&self) {
        self.is_read.store(1, Relaxed);
    }

    /// Something was read, or the answer is given up. Returns whether one was owed.
    pub(super) fn settle(&self) -> bool {
        let is_owed = self.is_owed();
        self.owed_since.store(0, Relaxed);
        self.is_read.store(0, Relaxed);
        is_owed
    }

    /// The rest of the limit; `None` if nothing is owed.
    pub(super) fn left_ms(&self, now_ms: u32, limit_ms: u64) -> Option<u64> {
        let since_ms = self.owed_since.load(Relaxed);
        // The time was made odd, so it may lie a millisecond ahead.
        let waited_ms = (now_ms | 1).wrapping_sub(since_ms);
        (since_ms != 0).then(|| limit_ms.saturating_sub(waited_ms.into()))
    }

    fn is_owed(&self) -> bool {
        self.owed_since.load(Relaxed) != 0
    }
}

/// The answers that a guard of a stream keeps track of.
#[derive(Debug)]
pub struct Answers {
    own: Exchange,
    pub(super) shared: Option<&'static Exchange>,
    /// `true` if the end of the stream would now be a failure: nothing has been read of its connection.
    is_new: bool,
    /// `true` if the device speaks by itself, so that a read is a call.
    pub(super) expects_data: bool,
}

impl Answers {
    /// `is_new`: of a connection of which nothing has been read.
    pub(super) const fn of_new(is_new: bool) -> Self {
        Self {
            own: Exchange::new(),
            shared: None,
            is_new,
            expects_data: false,
        }
    }

    pub(super) fn exchange(&self) -> &Exchange {
        self.shared.unwrap_or(&self.own)
    }

    /// The time until which a read waits before it looks again whether an answer is owed, which the guard of the other
    /// half may have noted meanwhile.
    fn look_after_ms(&self, now_ms: u32, limit_ms: u64) -> u64 {
        match self.exchange().left_ms(now_ms, limit_ms) {
            Some(left_ms) => left_ms,
            None if self.shared.is_some() => limit_ms,
            None => u64::MAX,
        }
    }
}

/// Reports what a read has brought, which was no call, and takes note of it: `bytes` of a buffer of that many, or an error.
pub(super) fn note_read<E: Error>(
    breaker: &impl AnyBreaker,
    answers: &mut Answers,
    classify: fn(ErrorKind) -> Outcome,
    bytes: Result<usize, &E>,
    buffer: usize,
) {
    let outcome = match bytes {
        Err(error) => {
            answers.exchange().settle();
            classify(error.kind())
        }
        Ok(_) if buffer == 0 => Outcome::Ignored,
        Ok(0) => {
            answers.exchange().settle();
            // An end that is read again is no further failure.
            if core::mem::take(&mut answers.is_new) {
                classify(ErrorKind::ConnectionAborted)
            } else {
                Outcome::Ignored
            }
        }
        Ok(_) => {
            let is_first = core::mem::take(&mut answers.is_new);
            if answers.exchange().settle() || is_first {
                Outcome::Success
            } else {
                Outcome::Ignored
            }
        }
    };
    report(breaker, outcome);
}

/// Waits for what comes, no longer than an answer that is owed may take.
pub(super) async fn listen<V, E>(
    breaker: &impl AnyBreaker<Clock: HasTimer>,
    answers: &Answers,
    limit: TimeLimit,
    read: impl Future<Output = Result<V, E>>,
) -> Result<V, GuardedError<E>> {
    let clock = breaker.as_breaker().clock();
    let limit_ms = limit.duration().map_or(u64::MAX, |limit| {
        limit.as_millis().try_into().unwrap_or(u64::MAX)
    });
    let mut read = pin!(read);
    loop {
        answers.exchange().begin_read();
        let look_after_ms = answers.look_after_ms(clock.now_ms(), limit_ms);
        let mut sleep = pin!(clock.timer().sleep(look_after_ms));
        let ended = poll_fn(|context| match read.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if look_after_ms == u64::MAX => Poll::Pending,
            Poll::Pending => sleep.as_mut().poll(context).map(|()| None),
        });
        if let Some(result) = ended.await {
            return result.map_err(GuardedError::Device);
        }
        if answers.exchange().left_ms(clock.now_ms(), limit_ms) == Some(0) {
            answers.exchange().settle();
            report(breaker, limit.failure().into());
            return Err(GuardedError::TimedOut);
        }
    }
}

/// The error of the device; there is no other here.
pub(super) fn of_device<E>(bytes: Result<usize, &GuardedError<E>>) -> Result<usize, &E> {
    match bytes {
        Err(GuardedError::Device(error)) => Err(error),
        Err(_) => Ok(0),
        Ok(bytes) => Ok(bytes),
    }
}
