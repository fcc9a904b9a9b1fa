// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of a retry: its number of tries and its time.

use core::time::Duration;

use super::{TimeLimit, TryEvent, TryLimit, ms};

/// The rules of a retry: exponential pauses with jitter, bounded in number and time. Integers only. `L` is the
/// [time limit](Self::try_limit) of each try, if there is one, and decides which error a retry returns; `O` is its
/// [observer](Self::observer), if it has one.
///
/// A rejection ends a retry at once, unless it is to [wait for the breaker](Self::wait_for_breaker): a caller that is
/// held until the breaker admits it learns nothing meanwhile, and on a server all callers are soon held so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Retry<L = (), O = ()> {
    pub(super) between: Between,
    limit: L,
    pub(super) observer: O,
}

/// The numbers and times of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Between {
    pub(super) tries: u32,
    /// [`FOR_ALL_OF_ITS_TIME`], or the milliseconds that it waits for the breaker in all.
    pub(super) wait_ms: u32,
    pub(super) first_ms: u64,
    pub(super) longest_ms: u64,
    pub(super) within_ms: u64,
}

/// Waits for as long as [`Retry::within`] allows.
pub(super) const FOR_ALL_OF_ITS_TIME: u32 = u32::MAX;

impl Retry {
    /// Three tries, 50 to 100 ms and then 100 to 200 ms apart; with more tries up to 10 s apart. None begins later
    /// than 30 s after the call of `retry`, and there is no wait for a breaker that rejects.
    pub const fn new() -> Self {
        Self {
            between: Between {
                tries: 3,
                wait_ms: 0,
                first_ms: 100,
                longest_ms: 10_000,
                within_ms: 30_000,
            },
            limit: (),
            observer: (),
        }
    }
}

impl<O: Copy> Retry<(), O> {
    /// A try that takes longer than this, rounded up to milliseconds, is dropped and counts as a failure; it is tried
    /// again like any other failure. The error is then [`Timed<E>`](super::Timed), as that of a
    /// [`call_timeout`](crate::Breaker::call_timeout). Unless set, a try takes as long as the operation does: one that hangs,
    /// hangs the retry.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, CallError, wait::{self, HasTimer, Retry, Timed}};
    /// use core::time::Duration;
    /// # async fn send() -> Result<(), ()> { Ok(()) }
    ///
    /// const POLICY: Retry<wait::TimeLimit> = Retry::new().try_limit(Duration::from_millis(200));
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>) -> &'static str {
    ///     match radio.retry(POLICY, send).await {
    ///         Ok(()) => "sent",
    ///         Err(CallError::Failed(Timed::TimedOut)) => "the last try took too long",
    ///         Err(CallError::Failed(Timed::Failed(()))) => "the last try failed in time",
    ///         Err(CallError::Rejected(_)) => "never tried",
    ///     }
    /// }
    /// ```
    pub const fn try_limit(self, limit: Duration) -> Retry<TimeLimit, O> {
        Retry {
            between: self.between,
            limit: TimeLimit::new(limit),
            observer: self.observer,
        }
    }
}

impl<L: TryLimit> Retry<L> {
    /// Calls this with each try that fails, and what follows: another try after a pause, or the reason that there is none;
    /// and with a retry that succeeds. It is called in the task of the retry, or where that is dropped, so be brief.
    /// Set [`try_limit`](Retry::try_limit) before it if it cannot be copied.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, wait::{HasTimer, Retry, TryEvent}};
    /// # async fn send() -> Result<(), ()> { Ok(()) }
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>) -> bool {
    ///     // radio: try 1, a failure: sent again after 80ms
    ///     let log = |event: &TryEvent| println!("radio: {event}");
    ///     radio.retry(Retry::new().observer(log), send).await.is_ok()
    /// }
    /// ```
    pub fn observer<F: FnMut(&TryEvent)>(self, observer: F) -> Retry<L, F> {
        Retry {
            between: self.between,
            limit: self.limit,
            observer,
        }
    }
}

impl<L: TryLimit, O> Retry<L, O> {
    /// The largest number of times that the operation is run. A rejected call does not count: the operation was not
    /// run. 0 counts as 1.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.between.tries = tries;
        self
    }

    /// The longest pause before the second try; it doubles with each try. Up to half of it is subtracted, a
    /// different part each time, so that callers spread out. Rounded up to milliseconds.
    pub const fn first_pause(mut self, pause: Duration) -> Self {
        self.between.first_ms = ms(pause);
        self
    }

    /// Caps the pauses between tries. [Waiting for the breaker](Self::wait_for_breaker) may take longer.
    pub const fn longest_pause(mut self, pause: Duration) -> Self {
        self.between.longest_ms = ms(pause);
        self
    }

    /// No try begins later than this after the call of `retry`, and if it is clear that the next one would, there is no
    /// wait for it. This is no deadline, as a try that is under way is not cut short: for that there is
    /// [`try_limit`](Retry::try_limit).
    pub const fn within(mut self, time: Duration) -> Self {
        self.between.within_ms = ms(time);
        self
    }

    /// The longest time that the call waits for a breaker that rejects it, all waits together: 0 unless set. It ends with
    /// [`within`](Self::within), too, so with [`Duration::MAX`] that alone is the limit. Rounded up to milliseconds; 49 days
    /// or more are no limit.
    ///
    /// The waits are those of [`ready`](crate::Breaker::ready), in every state in which the breaker rejects: open,
    /// half-open with every slot taken, returning. There is none while the breaker is forced open, as the time is
    /// unknown, nor if it stays open for longer than the time that is left: then the retry ends at once. Waiting costs
    /// no try.
    ///
    /// For a task of its own, which has nothing better to do than to wait: one that sends what a device has measured, a
    /// worker in the background. Where a person or another service waits for the answer, leave it out.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, wait::{HasTimer, Retry}};
    /// use core::time::Duration;
    /// # async fn send() -> Result<(), ()> { Ok(()) }
    ///
    /// const PATIENT: Retry = Retry::new().wait_for_breaker(Duration::from_secs(20));
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>) -> bool {
    ///     radio.retry(PATIENT, send).await.is_ok()
    /// }
    /// ```
    pub const fn wait_for_breaker(mut self, time: Duration) -> Self {
        let ms = ms(time);
        self.between.wait_ms = if ms < FOR_ALL_OF_ITS_TIME as u64 {
            ms as u32
        } else {
            FOR_ALL_OF_ITS_TIME
        };
        self
    }

    /// Splits off what each try has: nothing, or a time limit. The rest says what comes between the tries.
    pub fn split(self) -> (L, Retry<(), O>) {
        let between = Retry {
            between: self.between,
            limit: (),
            observer: self.observer,
        };
        (self.limit, between)
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}
