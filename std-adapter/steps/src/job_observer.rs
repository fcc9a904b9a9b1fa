//! Observers of what happens to jobs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::caught::caught_now;
use super::{Counts, Job, Status, Stuck, kept};

/// How a try of a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Tried {
    /// It succeeded.
    Success,
    /// It failed, panicked or took too long.
    Failure,
    /// A breaker within the step rejected it.
    Rejected,
    /// The worker that ran it was lost.
    Lapsed,
    /// The worker had to stop.
    GivenBack,
}

impl Tried {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [
        Self::Success,
        Self::Failure,
        Self::Rejected,
        Self::Lapsed,
        Self::GivenBack,
    ];

    /// Its name in metrics, such as `"given_back"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Rejected => "rejected",
            Self::Lapsed => "lapsed",
            Self::GivenBack => "given_back",
        }
    }
}

/// What a [`Store`](super::Store) was asked for: its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "named after the methods")]
pub enum Asked {
    Put,
    Claim,
    Renew,
    Save,
    Unpark,
    Forget,
    Counts,
}

impl Asked {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Put,
        Self::Claim,
        Self::Renew,
        Self::Save,
        Self::Unpark,
        Self::Forget,
        Self::Counts,
    ];

    /// The name of the method.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Save => "save",
            Self::Unpark => "unpark",
            Self::Forget => "forget",
            Self::Counts => "counts",
        }
    }
}

/// Is notified of what happens to jobs in this process, such as a log or metrics: set by
/// [`StepsBuilder::observer`](super::StepsBuilder::observer). Called from the tasks that run jobs, so be brief and do
/// not block. If it panics, only that notification is lost.
///
/// `()` observes nothing; a pair notifies both; a reference, `Arc` or `Box` forwards.
///
/// Errors arrive as text [without what may be secret](super::kept). The [id](Job::id) of a job that is kept only if its
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
pub trait JobObserver: Send + Sync {
    /// Steps were built that know these workflows, each with the lane of one of its steps, and these lanes: for counters
    /// that begin at zero.
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        let _ = (kinds, lanes);
    }

    /// How often each worker asks the store how many jobs there are, to notify [`counted`](Self::counted): 1 s to a
    /// day. Not at all by default. Asked once, when the steps are built; of a pair the shorter interval is taken.
    fn count_every(&self) -> Option<Duration> {
        None
    }

    /// The store has counted its jobs. This answer is out of date after the given time: then two more have been missed.
    fn counted(&self, counts: &Counts, valid_for: Duration) {
        let _ = (counts, valid_for);
    }

    /// A step of this job was tried.
    fn tried(&self, job: &Job, how: Tried) {
        let _ = (job, how);
    }

    /// A job has ended, with this error unless it is [done](Status::Done).
    fn ended(&self, job: &Job, status: Status, error: &str) {
        let _ = (job, status, error);
    }

    /// The right to a job was gone before the result of its step was saved: it is run again.
    fn lost(&self, job: &Job) {
        let _ = job;
    }

    /// A call within a step was rejected while the step was the probe of its lane. If both have the same breaker, use
    /// [`Lane::guarded_within`](super::Lane::guarded_within).
    fn in_its_own_way(&self, job: &Job) {
        let _ = job;
    }

    /// A call that was to become a job is neither done nor kept, and its caller has gone.
    fn unkept(&self, job: &Job, error: &str) {
        let _ = (job, error);
    }

    /// The [`Notifier`](super::Notifier) has told a person of a job, or failed with this error each time.
    fn told(&self, stuck: &Stuck, error: Option<&str>) {
        let _ = (stuck, error);
    }

    /// The store failed, or did not answer in time.
    fn store_failed(&self, asked: Asked, error: &str) {
        let _ = (asked, error);
    }

    /// The store has answered a claim or a save.
    fn store_answered(&self) {}
}

impl JobObserver for () {}

/// A panic of one of several does not keep the others from being notified.
macro_rules! forward {
    ($([$($of:tt)*] $observer:ty, $self:ident => $($each:expr),+;)*) => {$(
        impl<$($of)*> JobObserver for $observer {
            fn built(&$self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
                $(let _ = caught_now(|| $each.built(kinds, lanes));)+
            }

            fn count_every(&$self) -> Option<Duration> {
                [$($each.count_every()),+].into_iter().flatten().min()
            }

            fn counted(&$self, counts: &Counts, valid_for: Duration) {
                $(let _ = caught_now(|| $each.counted(counts, valid_for));)+
            }

            fn tried(&$self, job: &Job, how: Tried) {
                $(let _ = caught_now(|| $each.tried(job, how));)+
            }

            fn ended(&$self, job: &Job, status: Status, error: &str) {
                $(let _ = caught_now(|| $each.ended(job, status, error));)+
            }

            fn lost(&$self, job: &Job) {
                $(let _ = caught_now(|| $each.lost(job));)+
            }

            fn in_its_own_way(&$self, job: &Job) {
                $(let _ = caught_now(|| $each.in_its_own_way(job));)+
            }

            fn unkept(&$self, job: &Job, error: &str) {
                $(let _ = caught_now(|| $each.unkept(job, error));)+
            }

            fn told(&$self, stuck: &Stuck, error: Option<&str>) {
                $(let _ = caught_now(|| $each.told(stuck, error));)+
            }

            fn store_failed(&$self, asked: Asked, error: &str) {
                $(let _ = caught_now(|| $each.store_failed(asked, error));)+
            }

            fn store_answered(&$self) {
                $(let _ = caught_now(|| $each.store_answered());)+
            }
        }
    )*};
}

forward! {
    [O: JobObserver + ?Sized] &O, self => (**self);
    [O: JobObserver + ?Sized] Arc<O>, self => (**self);
    [O: JobObserver + ?Sized] Box<O>, self => (**self);
    [A: JobObserver, B: JobObserver] (A, B), self => self.0, self.1;
}

/// The text of an error as observers are told it.
pub(super) fn text(error: impl fmt::Display) -> String {
    kept(&error.to_string())
}
