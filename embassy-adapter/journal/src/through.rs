// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends the waiting entries through a breaker, as it allows.

use core::time::Duration;

use atomic_breaker::wait::{HasTimer, Limit, Timed};
use atomic_breaker::{AnyBreaker, CallError};
use embedded_storage_async::nor_flash::NorFlash;

use crate::Journal;
use crate::error::JournalError;
use crate::send::Entry;

/// The result of sending a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
#[non_exhaustive]
pub struct Sent<E> {
    /// The number of entries that were sent.
    pub count: u32,
    /// The reason why it stopped there: the breaker rejected an entry, or an entry failed. That entry is still waiting. `None`:
    /// nothing is waiting any more.
    pub stopped: Option<CallError<Timed<E>>>,
}

impl<E> Sent<E> {
    /// The time after which to try again, if the breaker rejected an entry and knows the time.
    pub fn retry_in(&self) -> Option<Duration> {
        self.stopped.as_ref()?.rejected()?.retry_in()
    }
}

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Sends the waiting entries, oldest first, each as a call through the breaker that takes no longer than `limit`
    /// (see [`call_timeout`](atomic_breaker::Breaker::call_timeout)), and removes those that were sent. Stops at the first
    /// entry that the breaker rejects, or that fails: it stays the oldest, and nothing overtakes it.
    ///
    /// An entry that failed may have arrived all the same, and so may one whose sending was interrupted by a reset or a
    /// dropped future: it is sent again, with the same number and the same bytes. A receiver that ignores numbers up to
    /// the last one it has seen gets every entry once.
    ///
    /// # Errors
    /// [`JournalError::Flash`], [`JournalError::Corrupt`]. If only the mark of an entry that was sent cannot be written, this
    /// goes on, and returns the error in the end: the entry may be sent again after a reset. A failure of the radio is not
    /// an error of the journal; it is reported in [`Sent::stopped`].
    pub async fn send_all<B: AnyBreaker<Clock: HasTimer>, V, E>(
        &mut self,
        breaker: &B,
        limit: impl Limit<<B::Clock as HasTimer>::Timer>,
        mut send: impl AsyncFnMut(Entry<'_>) -> Result<V, E>,
    ) -> Result<Sent<E>, JournalError<F::Error>> {
        let (mut count, mut stopped, mut marked) = (0, None, Ok(()));
        while let Some(record) = self.find_oldest().await? {
            let entry = record.entry(&self.buffer);
            let call = breaker.as_breaker().call_timeout(limit, || send(entry));
            if let Err(error) = call.await {
                stopped = Some(error);
                break;
            }
            marked = marked.and(self.finish(&record).await);
            count += 1;
        }
        marked.map(|()| Sent { count, stopped })
    }

    /// Sends the waiting entries, then the new one; keeps the new one if it is not sent. When this returns, it was sent
    /// or is in flash.
    ///
    /// For an entry that is sent at once only its number is written to flash: 12 bytes, rounded up to the unit in which
    /// the flash writes. Until this returns the entry is not kept. [`keep`](Self::keep) followed by
    /// [`send_all`](Self::send_all) takes more flash, but does not lose it to a reset while it is being sent, nor if
    /// the future is dropped.
    pub async fn send_or_keep<B: AnyBreaker<Clock: HasTimer>, V, E>(
        &mut self,
        breaker: &B,
        limit: impl Limit<<B::Clock as HasTimer>::Timer>,
        bytes: &[u8],
        mut send: impl AsyncFnMut(Entry<'_>) -> Result<V, E>,
    ) -> Result<Sent<E>, JournalError<F::Error>> {
        Self::check_len(bytes.len())?;
        let mut done = self.send_all(breaker, limit, &mut send).await?;
        let is_rejected = breaker.as_breaker().snapshot().rejection().is_some();
        if done.stopped.is_some() || is_rejected {
            self.keep(bytes).await?;
            if done.stopped.is_none() {
                // This gets the rejection from the breaker itself.
                let rest = self.send_all(breaker, limit, send).await?;
                done.count += rest.count;
                done.stopped = rest.stopped;
            }
            return Ok(done);
        }
        // In flash before it is on air, so that an entry sent after a reset gets another number.
        self.settle().await?;
        let number = self.state.next;
        self.append(number, None).await?;
        let entry = Entry { number, bytes };
        let call = breaker.as_breaker().call_timeout(limit, || send(entry));
        match call.await {
            Ok(_) => done.count += 1,
            Err(error) => {
                self.append(number, Some(bytes)).await?;
                done.stopped = Some(error);
            }
        }
        Ok(done)
    }
}
