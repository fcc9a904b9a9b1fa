//! What waits is sent, as the breaker lets it.

use core::time::Duration;

use atomic_breaker::wait::{self, Timed};
use atomic_breaker::{AnyBreaker, CallError, Rejected};
use embedded_storage_async::nor_flash::NorFlash;

use super::Journal;
use super::error::JournalError;
use crate::clock::EmbassyTimer;
use crate::ext::IntoTimeLimit;

/// An entry on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    number: u32,
    bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Its number, for the receiver: numbers rise, and one that comes again is the same entry again.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// What was kept.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// How far a journal got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Sent<E> {
    /// How many entries were sent.
    pub count: u32,
    /// Why it stopped there: rejected by the breaker, or an entry that failed. It still waits. `None`: nothing
    /// waits any more.
    pub stopped: Option<CallError<Timed<E>>>,
}

impl<E> Sent<E> {
    /// How the breaker rejected, if it did: its [`retry_in`](Rejected::retry_in) says when to come back.
    pub fn rejected(&self) -> Option<Rejected> {
        self.stopped.as_ref().and_then(CallError::rejected)
    }

    /// When to come back, where the breaker says so.
    pub fn retry_in(&self) -> Option<Duration> {
        self.rejected().and_then(Rejected::retry_in)
    }
}

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Sends what waits, the oldest first, each entry as a call of the breaker that takes no longer than `limit` (as
    /// of [`call_timeout`](crate::BreakerExt::call_timeout)), and removes what was sent. Stops at the first that the
    /// breaker rejects, or that fails: it stays the oldest, and nothing overtakes it.
    ///
    /// An entry that failed may have arrived nevertheless, and so may one whose sending a reset or a dropped future
    /// cut off: it is sent again, with the same number and the same bytes. A receiver that ignores numbers up to the
    /// last one it has seen has every entry once.
    ///
    /// # Errors
    /// [`JournalError::Flash`], [`JournalError::Corrupt`]. That the radio failed is no error of the journal, but
    /// [`Sent::stopped`].
    pub async fn send_all<B: AnyBreaker, V, E>(
        &mut self,
        breaker: &B,
        limit: impl IntoTimeLimit,
        mut send: impl AsyncFnMut(Entry<'_>) -> Result<V, E>,
    ) -> Result<Sent<E>, JournalError<F::Error>> {
        let limit = limit.into_time_limit();
        let mut count = 0;
        while let Some(record) = self.find_oldest().await? {
            let entry = Entry {
                number: record.number,
                bytes: &self.buffer[..record.len],
            };
            let call = wait::call_timeout(breaker, EmbassyTimer, limit, || send(entry));
            if let Err(error) = call.await {
                let stopped = Some(error);
                return Ok(Sent { count, stopped });
            }
            self.finish(&record).await?;
            count += 1;
        }
        Ok(Sent {
            count,
            stopped: None,
        })
    }

    /// Sends what waits, then the new entry; keeps it where it is not sent. When this returns, it was sent or is in
    /// flash.
    ///
    /// For an entry that is sent at once only its number is written to flash: 12 bytes, rounded up to what the flash
    /// writes. Until this returns it is not kept: [`keep`](Self::keep), then [`send_all`](Self::send_all), take more
    /// flash and lose it neither to a reset while it is sent nor when the future is dropped.
    ///
    /// # Errors
    /// Those of [`keep`](Self::keep).
    pub async fn send_or_keep<B: AnyBreaker, V, E>(
        &mut self,
        breaker: &B,
        limit: impl IntoTimeLimit,
        bytes: &[u8],
        mut send: impl AsyncFnMut(Entry<'_>) -> Result<V, E>,
    ) -> Result<Sent<E>, JournalError<F::Error>> {
        Self::check_len(bytes.len())?;
        let limit = limit.into_time_limit();
        let mut done = self.send_all(breaker, limit, &mut send).await?;
        let is_rejected = breaker.as_breaker().snapshot().wait().is_some();
        if done.stopped.is_some() || is_rejected {
            self.keep(bytes).await?;
            if done.stopped.is_none() {
                // It is the breaker that says how it rejects.
                let rest = self.send_all(breaker, limit, send).await?;
                done.count += rest.count;
                done.stopped = rest.stopped;
            }
            return Ok(done);
        }
        // On flash before it is on air: what comes after a reset has another one.
        let number = self.use_number().await?;
        let entry = Entry { number, bytes };
        let call = wait::call_timeout(breaker, EmbassyTimer, limit, || send(entry));
        match call.await {
            Ok(_) => done.count += 1,
            Err(error) => {
                self.append(number, Some(bytes)).await?;
                done.stopped = Some(error);
            }
        }
        Ok(done)
    }

    /// The oldest entry that waits, for those who send in their own way: without a call for each entry, or with an
    /// answer that comes later. It stays until [`remove_through`](Self::remove_through).
    ///
    /// # Errors
    /// [`JournalError::Flash`], [`JournalError::Corrupt`].
    pub async fn oldest(&mut self) -> Result<Option<Entry<'_>>, JournalError<F::Error>> {
        let found = self.find_oldest().await?;
        Ok(found.map(|record| Entry {
            number: record.number,
            bytes: &self.buffer[..record.len],
        }))
    }

    /// Removes the entries up to that number, which has arrived, and answers how many those were. None that came
    /// later is removed, even where the one of that number was dropped meanwhile.
    ///
    /// # Errors
    /// [`JournalError::Flash`], [`JournalError::Corrupt`].
    pub async fn remove_through(&mut self, number: u32) -> Result<u32, JournalError<F::Error>> {
        let mut removed = 0;
        while let Some(record) = self.find_oldest().await? {
            if record.number > number {
                break;
            }
            self.finish(&record).await?;
            removed += 1;
        }
        Ok(removed)
    }
}
