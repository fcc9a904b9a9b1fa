// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way to the store: everything that asks it goes through here, with a time limit; its panics count as failures,
//! and observers are notified of those.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::caught::caught;
use crate::error::StoreError;
use crate::job_observer::{Asked, Observers};
use crate::schedule::Schedule;
use crate::store::Store;
use crate::text::redacted;

/// A store whose failures are observed.
pub(crate) struct Database<D> {
    pub(crate) store: D,
    pub(crate) observers: Observers,
}

impl<D: Store> Database<D> {
    /// Asks the store, however long that takes.
    pub(crate) async fn ask<'a, T, F>(
        &'a self,
        asked: Asked,
        ask: impl FnOnce(&'a D) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.ask_within(Duration::MAX, asked, ask).await
    }

    /// Asks the store, which has failed if it does not answer within this time.
    pub(crate) async fn ask_within<'a, T, F>(
        &'a self,
        limit: Duration,
        asked: Asked,
        ask: impl FnOnce(&'a D) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let late = |_| Err(StoreError::new(format!("no answer within {limit:.1?}")));
        let answered = timeout(limit, ask_store(|| ask(&self.store))).await;
        let answered = answered.unwrap_or_else(late);
        match &answered {
            Ok(_) if matches!(asked, Asked::NextDue | Asked::Claim | Asked::Save) => {
                self.observers.each(|it| it.store_answered());
            }
            Ok(_) => {}
            Err(error) => {
                let error = redacted(&error.to_string());
                self.observers.each(|it| it.store_failed(asked, &error));
            }
        }
        answered
    }
}

/// Asks a [`Store`], whose code is foreign: a panic of it is an error, as it may succeed the next time.
///
/// # Errors
/// The error of the store, or one that contains the message of its panic.
pub async fn ask_store<T, F>(ask: impl FnOnce() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    // Called inside the async block, as it may panic before there is a future.
    let answer = caught(async { ask().await }).await;
    answer.unwrap_or_else(|words| Err(StoreError::new(format!("the store panicked: {words}"))))
}

/// The pauses before a store that failed is asked again, as long as there is time.
pub(crate) struct Pauses {
    failures: u32,
    pub(crate) until: Instant,
}

impl Pauses {
    const SCHEDULE: Schedule = Schedule::new()
        .first(Duration::from_millis(100))
        .growth(2.0)
        .jitter_percent(0)
        .tries(u32::MAX);

    pub(crate) fn within(time: Duration) -> Self {
        Self {
            failures: 0,
            until: Instant::now() + time,
        }
    }

    /// Pauses; `false` if the time would be over then.
    pub(crate) async fn next(&mut self) -> bool {
        self.failures += 1;
        let pause = Self::SCHEDULE.pause(self.failures).unwrap_or_default();
        let in_time = Instant::now() + pause < self.until;
        if in_time {
            sleep(pause).await;
        }
        in_time
    }
}
