// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows what became of the tries that failed.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use atomic_breaker_server::{RetryCounts, RetryEvent};

use super::meter::{Gauges, Meter};
use super::series::{OUTCOME, Page, RETRIES, RETRY_TOKENS};
use super::{Metrics, Observed};
use crate::lock;

/// [`Metrics`] of retries: how many were sent, how many requests they saved, why others were not sent, and how many
/// tokens are left. Nothing is counted here: the counters of the budgets are read when metrics are published.
///
/// ```
/// use atomic_breaker_observe::{Metrics, OfRetries};
/// use atomic_breaker_server::RetryCounts;
///
/// # fn counts() -> RetryCounts { RetryCounts::new(|_| 0, 100_000) }
/// // With a guard around HTTP clients: `watch_retries(|| GUARD.retries())`;
/// // with one budget: `watch_retries(|| BUDGET.counts())`.
/// Metrics::<OfRetries>::new("hosts").watch_retries(counts);
/// // For each scrape, before the recorder renders its page:
/// atomic_breaker_observe::publish();
/// ```
#[derive(Clone, Debug)]
pub struct OfRetries(&'static WatchedBudgets);

/// Read when metrics are published. `None`: it has ended.
type ReadCounts = Box<dyn FnMut() -> Option<RetryCounts> + Send>;

/// The budgets of a name, and the sum of those that have ended.
#[derive(Default)]
struct WatchedBudgets(Mutex<Vec<WatchedBudget>>);

struct WatchedBudget {
    ask: Option<ReadCounts>,
    last: RetryCounts,
}

impl Metrics<OfRetries> {
    /// Publishes these counts from now on: those of a `RetryBudget`, of `RetryBudgets` or of a `ClientGuard`. `counts`
    /// is called each time, and may return `None` once what it asks is gone; then its counters stay as they were. If it
    /// panics, they stay as they were until the next time. It must not watch others itself. Watch each budget once: all that
    /// are watched under one name are added up.
    pub fn watch_retries<T>(&self, mut counts: impl FnMut() -> T + Send + 'static)
    where
        T: Into<Option<RetryCounts>>,
    {
        let nothing = [].into_iter().sum();
        lock(&self.0.0.0).push(WatchedBudget {
            ask: Some(Box::new(move || counts().into())),
            last: nothing,
        });
    }
}

impl Observed for OfRetries {
    fn named(name: &dyn fmt::Display) -> Self {
        Self(Meter::of(name).part(|_| WatchedBudgets::default()))
    }
}

impl WatchedBudget {
    /// The counts as they are now, or as they last were.
    fn counts(&mut self) -> RetryCounts {
        // The other metrics are published even if it panics.
        let asked = self
            .ask
            .as_mut()
            .map(|ask| catch_unwind(AssertUnwindSafe(ask)));
        match asked {
            Some(Ok(Some(counts))) => self.last = counts,
            Some(Err(_)) => {}
            Some(Ok(None)) | None => {
                self.ask = None;
                // Tokens that nobody can take.
                self.last = RetryCounts::new(|event| self.last.of(event), u32::MAX);
            }
        }
        self.last
    }
}

impl Gauges for WatchedBudgets {
    fn publish(&self, page: &Page<'_>) {
        let counts: RetryCounts = lock(&self.0).iter_mut().map(WatchedBudget::counts).sum();
        for event in RetryEvent::ALL {
            page.counter(RETRIES, &[(OUTCOME, event.name())], counts.of(event));
        }
        let tokens = match counts.millitokens() {
            u32::MAX => f64::NAN,
            millitokens => f64::from(millitokens) / 1_000.0,
        };
        page.gauge(RETRY_TOKENS, &[], tokens);
    }
}

impl fmt::Debug for WatchedBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = lock(&self.0).len();
        f.debug_struct("WatchedBudgets")
            .field("watched", &watched)
            .finish()
    }
}
