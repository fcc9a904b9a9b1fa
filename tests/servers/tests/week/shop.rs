// SPDX-License-Identifier: MIT OR Apache-2.0
//! A resource that is down for an hour, twice a day, and a week of jobs that need it.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, TokioClock};
use atomic_breaker_steps::{
    Filter, JobId, MemoryStore, Notifier, Schedule, Status, Steps, StepsBuilder, Store, Stuck,
};
use tokio::time::{Instant, sleep, sleep_until};

use super::SECOND;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The time between two jobs.
const EVERY: Duration = Duration::from_secs(120);
const PERIOD: u64 = 12 * 3_600;
const DOWN: std::ops::Range<u64> = 5 * 3_600..6 * 3_600;

pub(crate) type Shared = Arc<Breaker<TokioClock>>;

pub(crate) fn breaker(config: Config) -> Shared {
    Arc::new(Breaker::new(config, TokioClock))
}

/// Responds after a tenth of a second, or fails. Clones share its state.
#[derive(Clone)]
pub(crate) struct Supplier {
    began: Instant,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The number of times that each request succeeded.
    answered: HashMap<String, u32>,
    /// Requests while it was down: in total, and in the worst hour.
    wasted: u32,
    worst: u32,
    this_hour: (u64, u32),
    /// The number of outages after which it was called again, and the longest delay in seconds.
    back: (u32, u64),
    /// The last outage after which it was called.
    asked_after: u64,
}

/// Returns whether the supplier is down this long after the start.
pub(crate) fn is_down(time: Duration) -> bool {
    DOWN.contains(&(time.as_secs() % PERIOD))
}

impl Supplier {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            seen: Arc::default(),
        }
    }

    pub(crate) async fn order(&self, request: &str) -> io::Result<()> {
        let second = self.began.elapsed().as_secs();
        let (period, phase) = (second / PERIOD, second % PERIOD);
        sleep(SECOND / 10).await;
        let mut seen = self.seen.lock().unwrap();
        if DOWN.contains(&phase) {
            if seen.this_hour.0 != period {
                seen.this_hour = (period, 0);
            }
            seen.this_hour.1 += 1;
            seen.wasted += 1;
            seen.worst = seen.worst.max(seen.this_hour.1);
            return Err(io::Error::other("no answer"));
        }
        if phase >= DOWN.end && seen.asked_after <= period {
            seen.asked_after = period + 1;
            seen.back.0 += 1;
            seen.back.1 = seen.back.1.max(phase - DOWN.end);
        }
        *seen.answered.entry(request.to_owned()).or_default() += 1;
        Ok(())
    }

    pub(crate) fn wasted(&self) -> u32 {
        self.seen.lock().unwrap().wasted
    }

    /// Each of this many jobs succeeded exactly once; at most `worst` requests were wasted in an hour, and the supplier
    /// was called again within a minute of its return.
    pub(crate) fn was_spared(&self, answered: usize, worst: u32) {
        let seen = self.seen.lock().unwrap();
        let twice = seen.answered.iter().find(|(_, times)| **times > 1);
        assert_eq!(twice, None);
        assert_eq!(seen.answered.len(), answered);
        assert!((3..=worst).contains(&seen.worst), "{}", seen.worst);
        assert_eq!(seen.back.0, 14);
        assert!(seen.back.1 <= 75, "{:?}", seen.back);
    }
}

/// The notices that were sent, by job and status.
#[derive(Clone, Default)]
pub(crate) struct Mail(pub(crate) Arc<Mutex<Vec<(JobId, Status)>>>);

impl Notifier for Mail {
    async fn notify(&self, stuck: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.lock().unwrap().push((stuck.job.id, stuck.status));
        Ok(())
    }
}

impl Mail {
    /// No notice is sent twice for a job.
    pub(crate) fn told(&self) -> usize {
        let mut told: Vec<JobId> = self.0.lock().unwrap().iter().map(|(id, _)| *id).collect();
        let all = told.len();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told.len(), all, "twice");
        all
    }
}

/// Polls rarely and forgets quickly, because a week is long.
pub(crate) fn shop(store: &MemoryStore) -> StepsBuilder<MemoryStore> {
    Steps::builder(store.clone())
        .poll(10 * SECOND)
        .retention(2 * HOUR)
}

/// Enough tries to outlast an outage.
pub(crate) const fn patient() -> Schedule {
    Schedule::new()
        .first(Duration::from_secs(10))
        .growth(2.0)
        .longest(Duration::from_secs(600))
        .tries(20)
        // An outage lasts for an hour; a job that is rejected throughout is done soon afterwards.
        .tell_after(Duration::from_secs(7_200))
}

/// The observations of a week's jobs.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) kept: usize,
    /// The largest number of jobs in the store.
    most: usize,
    /// The number of lines in the histories of all jobs.
    pub(crate) charged: u32,
}

/// A week of jobs, then an hour for those that are left. `each` keeps the job of this number.
pub(crate) async fn week(store: &MemoryStore, mut each: impl AsyncFnMut(usize)) -> Jobs {
    let began = Instant::now();
    let mut jobs = Jobs::default();
    let mut charged: HashMap<JobId, usize> = HashMap::new();
    while began.elapsed() < WEEK {
        each(jobs.kept).await;
        jobs.kept += 1;
        if jobs.kept % 15 == 0 {
            let all = store.list(&Filter::default(), 10_000).await.unwrap();
            jobs.most = jobs.most.max(all.len());
            for job in all {
                let lines = store.history(job.id).await.unwrap().len();
                charged.insert(job.id, lines);
            }
        }
        sleep_until(began + EVERY * jobs.kept as u32).await;
    }
    sleep(HOUR).await;
    jobs.charged = charged.into_values().sum::<usize>() as u32;
    jobs
}

impl Jobs {
    /// No job is left, and the store never held more than a few hours' worth.
    pub(crate) async fn are_done(&self, store: &MemoryStore) {
        let counts = store.counts().await.unwrap();
        let rest = counts.jobs.iter();
        let rest: Vec<_> = rest
            .filter(|(_, status, _)| *status != Status::Done)
            .collect();
        assert!(rest.is_empty(), "{rest:?}");
        assert!(self.most < 200, "{self:?}");
    }
}
