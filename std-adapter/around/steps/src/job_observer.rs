// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers of what happens to jobs, and to the store.

use std::time::Duration;

use super::caught::caught_now;
use super::named::named;
use super::{Counts, Job, Status, Stuck};

named! {
    /// The end of a step's try.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum TryResult {
        /// The step succeeded.
        Success = "success",
        /// The step failed, panicked or took too long.
        Failure = "failure",
        /// A breaker within the step rejected it.
        Rejected = "rejected",
        /// The worker that ran it was lost.
        Lapsed = "lapsed",
        /// The worker had to stop.
        GivenBack = "given_back",
    }
}

named! {
    /// The method of a [`Store`](super::Store) that was asked for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    #[expect(missing_docs, reason = "named after the methods")]
    pub enum Asked {
        Put = "put",
        NextDue = "next_due",
        Claim = "claim",
        Renew = "renew",
        Save = "save",
        Unpark = "unpark",
        Job = "job",
        History = "history",
        Forget = "forget",
        Counts = "counts",
    }
}

/// Is notified of what happens to jobs in this process, such as a log or metrics: added by
/// [`StepsBuilder::observer`](super::StepsBuilder::observer). Called from the tasks that run jobs, so be brief and do
/// not block. If it panics, only that notification is lost.
///
/// Errors arrive as text [without what may be secret](super::redacted). The [id](Job::id) of a job that is kept only if its
/// [first try](super::Steps::call_or_keep) does not succeed is 0.
///
/// ```
/// use atomic_breaker_steps::{Job, JobObserver, Lane, MemoryStore, Status, Steps, Workflow};
///
/// struct Print;
///
/// impl JobObserver for Print {
///     fn ended(&self, job: &Job, status: Status, error: &str) {
///         println!("job {} is {}: {error}", job.id, status.name());
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| Ok(to));
/// let steps = Steps::builder(MemoryStore::new())
///     .lane(Lane::new("mail"))
///     .workflow(&welcome)
///     .observer(Print)
///     .build()?;
/// # drop(steps);
/// # Ok(()) }
/// ```
#[expect(unused_variables, reason = "named for those who implement it")]
pub trait JobObserver: Send + Sync {
    /// Steps were built that know these workflows, each with the lane of one of its steps, and these lanes: for counters
    /// that begin at zero.
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {}

    /// The interval at which each worker asks the store for the number of jobs, to notify [`counted`](Self::counted): 1
    /// s to a day. Not at all by default. Asked once, when the steps are built; of several the shortest interval is
    /// taken.
    fn count_every(&self) -> Option<Duration> {
        None
    }

    /// The store has counted its jobs. This answer is out of date after the given time: then two more have been missed.
    fn counted(&self, counts: &Counts, valid_for: Duration) {}

    /// A step of this job was tried.
    fn tried(&self, job: &Job, how: TryResult) {}

    /// A job has ended, with this error unless it is [done](Status::Done).
    fn ended(&self, job: &Job, status: Status, error: &str) {}

    /// The right to a job was gone before the result of its step was saved: it is run again.
    fn lost(&self, job: &Job) {}

    /// A call within a step was rejected while the step was the probe of its lane. If both have the same breaker, use
    /// [`Lane::guarded_within`](super::Lane::guarded_within).
    fn probe_blocked_by_itself(&self, job: &Job) {}

    /// A call that was to become a job is neither done nor kept, and its caller has gone.
    fn unkept(&self, job: &Job, error: &str) {}

    /// The [`Notifier`](super::Notifier) has notified a person of a job, or failed with this error each time.
    fn told(&self, stuck: &Stuck, error: Option<&str>) {}

    /// The store failed, or did not answer in time.
    fn store_failed(&self, asked: Asked, error: &str) {}

    /// The store has answered a worker: a claim, a save, or when the next job is due.
    fn store_answered(&self) {}
}

/// All observers of some steps.
#[derive(Default)]
pub(super) struct Observers(pub(super) Vec<Box<dyn JobObserver>>);

impl Observers {
    /// A panic of one keeps neither the others from being notified nor the job from going on.
    pub(super) fn each(&self, notify: impl Fn(&dyn JobObserver)) {
        for observer in &self.0 {
            let _ = caught_now(|| notify(&**observer));
        }
    }
}
