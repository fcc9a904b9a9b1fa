// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims the jobs of each lane that are due, as many as its breaker admits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::in_progress::{Batch, UnderWay};
use super::inner::Inner;
use super::looks::{spread, until_stopped, work};
use super::{Asked, Store, StoreError};

/// The number of jobs that are forgotten, or wait again, at a time.
const AT_A_TIME: u32 = 1_000;

/// Roughly how often old jobs are forgotten, and parked ones looked for.
const HOUSE: Duration = Duration::from_secs(600);

/// Jobs that were parked more recently are left alone, so that many workers do not keep one being tried all the time.
const PARKED: Duration = Duration::from_secs(300);

/// Works until it is stopped or dropped. Steps running when it is dropped run to their end.
#[derive(Debug)]
#[must_use = "dropping it stops it"]
pub struct Worker {
    /// Each of its tasks holds a receiver until it has stopped, as it does when this is dropped, too.
    is_stopped: watch::Sender<bool>,
    /// The work it has claimed.
    claimed: Batch,
    called: Arc<UnderWay>,
    telling: Arc<UnderWay>,
}

impl Worker {
    pub(super) fn new<D: Store>(inner: &Arc<Inner<D>>) -> Self {
        let (is_stopped, stops) = watch::channel(false);
        let claimed = Batch::new();
        for room in inner.lanes.values() {
            let (inner, room) = (Arc::clone(inner), Arc::clone(room));
            tokio::spawn(work(inner, room, stops.clone(), claimed.clone()));
        }
        if let Some(each) = inner.times.count {
            let counts = count(Arc::clone(inner), each);
            tokio::spawn(until_stopped(stops.clone(), counts));
        }
        tokio::spawn(until_stopped(stops, keep_house(Arc::clone(inner))));
        Self {
            is_stopped,
            claimed,
            called: Arc::clone(&inner.called),
            telling: Arc::clone(&inner.telling),
        }
    }

    /// Stops claiming, and waits until the steps that run have ended, including those that were
    /// [run](super::Steps::run), [called](super::Steps::call_or_keep) or sent through a `KeepLayer` here before, and
    /// until the messages to a person about them are sent. If this future is dropped, they run on.
    pub async fn stop(self) {
        self.stop_within(Duration::MAX).await;
    }

    /// Like [`stop`](Self::stop), but work that has not ended within this time is dropped where it stands: its job is
    /// due at once, for any worker, and that was no try; the same applies to a call or request, which is kept. For a
    /// process that was told to exit. While the store does not answer, it takes longer, by a lease or two.
    pub async fn stop_within(self, time: Duration) {
        self.is_stopped.send_replace(true);
        let mut before = self.called.until_now();
        before.push(self.claimed);
        let ended = || async {
            self.is_stopped.closed().await;
            for batch in &before {
                batch.ended().await;
            }
        };
        let told = async {
            ended().await;
            for batch in self.telling.until_now() {
                batch.ended().await;
            }
        };
        if timeout(time, told).await.is_err() {
            before.iter().for_each(Batch::give_up);
            ended().await;
        }
    }
}

/// Parked jobs that are known here wait again; old ones are forgotten. Whatever the store fails to do is left for the
/// next time.
async fn keep_house<D: Store>(inner: Arc<Inner<D>>) {
    // Other workers may have just parked jobs that this one knows.
    let mut parked_before = Duration::ZERO;
    loop {
        unpark(&inner, parked_before).await;
        parked_before = PARKED;
        let (database, age) = (&inner.database, inner.times.retention);
        all(|| database.ask(Asked::Forget, |it| it.forget(age, AT_A_TIME))).await;
        sleep(spread(HOUSE)).await;
    }
}

/// Repeats what is done to some at a time, as long as there are more.
async fn all<F: Future<Output = Result<u64, StoreError>>>(some: impl Fn() -> F) {
    while matches!(some().await, Ok(many) if many == u64::from(AT_A_TIME)) {}
}

async fn unpark<D: Store>(inner: &Inner<D>, parked_before: Duration) {
    // Without those that are parked again meanwhile.
    let began = Instant::now();
    for plan in inner.workflows.values() {
        let steps: Vec<_> = plan.steps.iter().map(|step| step.name).collect();
        let unpark = || {
            let before = parked_before + began.elapsed();
            let steps = &steps;
            inner.database.ask(Asked::Unpark, move |store| {
                store.unpark(plan.kind, steps, before, AT_A_TIME)
            })
        };
        all(unpark).await;
    }
}

/// Asks repeatedly how many jobs there are. An answer is valid until two have been missed.
async fn count<D: Store>(inner: Arc<Inner<D>>, each: Duration) {
    loop {
        let began = Instant::now();
        if let Ok(counts) = inner.database.ask(Asked::Counts, D::counts).await {
            let valid_for = (each + began.elapsed()) * 3;
            inner.observe(|it| it.counted(&counts, valid_for));
        }
        sleep(spread(each)).await;
    }
}
