// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits until a job has ended.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use super::inner::Inner;
use super::{Asked, JobId, JobProgress, ProgressError, Steps, Store, Workflow};

/// The pauses between two looks at a job: each half as long again as the one before.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// The time limit of a store's answer.
const ANSWER: Duration = Duration::from_secs(5);

impl<D: Store> Steps<D> {
    /// Waits until a job of this workflow has [ended](crate::Status::is_final) or the time limit has passed, and returns
    /// how far it has come, as [`progress`](Self::progress) does: so `None` at once if there is no such job, and a job
    /// that is parked counts as ended. Dropping this future changes nothing.
    ///
    /// A job that ends in this process is noticed at once, one that ends elsewhere by looking for it: 50 ms after the
    /// first look, and with pauses that grow to 1 s. **All that wait on these steps and their clones look at most 100
    /// times a second together**, in turn, so with more than 100 of them the pauses are longer. Besides, each call reads
    /// the job once when it begins, once when it ends here, and the job and its history in the end.
    ///
    /// A store that fails is asked again as long as there is time; without an answer for 5 s it has failed. So this takes
    /// at most 10 s longer than the limit, and only if the store is that slow.
    ///
    /// # Errors
    /// [`ProgressError`]: the store fails in the end, or the state is of another type.
    ///
    /// ```
    /// use atomic_breaker_steps::{Lane, MemoryStore, Steps, Workflow};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let double = Workflow::new("double").step("double", "cpu", async |n: u32| Ok(2 * n));
    /// let steps = Steps::builder(MemoryStore::new()).lane(Lane::new("cpu")).workflow(&double).build()?;
    /// let worker = steps.work();
    /// let id = steps.enqueue(&double, "21", &21).await?;
    ///
    /// match steps.wait_done(&double, id, Duration::from_secs(2)).await? {
    ///     Some(job) if job.result().is_some() => println!("{}", job.state), // 42
    ///     Some(job) => println!("{} at step {}", job.status.name(), job.step),
    ///     None => println!("no such job"),
    /// }
    /// # worker.stop().await;
    /// # Ok(()) }
    /// ```
    pub async fn wait_done<S: DeserializeOwned>(
        &self,
        workflow: &Workflow<S>,
        id: JobId,
        limit: Duration,
    ) -> Result<Option<JobProgress<S>>, ProgressError> {
        let ended = self.0.until_ended(workflow.kind(), id);
        // What is returned is read afterwards in any case.
        let _ = timeout(limit, ended).await;
        self.progress_within(ANSWER, workflow, id).await
    }
}

impl<D: Store> Inner<D> {
    /// Returns when the job has ended, or there is none.
    async fn until_ended(&self, kind: &str, id: JobId) {
        let waits = self.watched.begin(id);
        let mut pause = FIRST;
        loop {
            // Before the look, so that no end is missed.
            let ends = waits.ended.notified();
            let look = self
                .database
                .ask_within(ANSWER, Asked::Job, |store| store.job(id));
            match look.await {
                Ok(None) => return,
                Ok(Some(job)) if job.kind != kind || job.status.is_final() => return,
                Ok(Some(_)) | Err(_) => {}
            }
            let turn = async {
                sleep(pause).await;
                self.watched.turn().await;
            };
            tokio::select! {
                () = ends => {}
                () = turn => {}
            }
            pause = (pause * 3 / 2).min(LONGEST);
        }
    }
}
