// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of running a job, as a store writes it.

use std::time::Duration;

use super::named::named;
use super::{Right, Status};

/// The result of running a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// The change is saved only if this is still the right to the job.
    pub right: Right,
    /// The change.
    pub change: Change,
}

/// A change to a job that runs: each function makes one, and a store writes its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Change {
    /// The new status.
    pub status: Status,
    /// The next step and its lane, if a step is done that is not the last; then no failures are counted yet.
    pub next: Option<(String, String)>,
    /// The new state, if a step is done.
    pub state: Option<String>,
    /// The time until it is due, or until its lease ends if it still runs; `None` if it ends.
    pub due_in: Option<Duration>,
    /// The event that the change counts as.
    pub counts_as: CountsAs,
    /// A line in its history, with the number of the failure if it is one, otherwise 0. A parked job has each line
    /// once, and one that is held up only if a person is to be notified.
    pub error: Option<String>,
    /// A person is to be notified, unless one was: of a delay once, and of the end in any case.
    pub tell: bool,
}

named! {
    /// The event that a [`Change`] counts as.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CountsAs {
        /// A success: the job is no longer [held up](crate::Job::held_up).
        Succeeded = "succeeded",
        /// A failure; it was tried, so it is no longer held up either.
        Failed = "failed",
        /// Nothing: it was not tried.
        Nothing = "nothing",
        /// Held up once more: it was not tried, as a breaker within its step rejected it.
        Rejected = "rejected",
        /// Held up once more: it was not tried, as this worker does not know its kind or step, or cannot read its state.
        Unknown = "unknown",
    }
}

impl Change {
    const fn new(status: Status, due_in: Option<Duration>, counts_as: CountsAs) -> Self {
        Self {
            status,
            next: None,
            state: None,
            due_in,
            counts_as,
            error: None,
            tell: false,
        }
    }

    /// A step is done. If the worker is to `keep` the job, it runs the next step with [the right
    /// after](Right::after_step) its own for this long, and the same change saved once more with the old right is answered
    /// as the first one was, and changes nothing. Otherwise the job is due now.
    pub fn next(step: &str, lane: &str, state: String, keep: Option<Duration>) -> Self {
        let status = match keep {
            Some(_) => Status::Running,
            None => Status::Waiting,
        };
        let mut done = Self::new(status, keep.or(Some(Duration::ZERO)), CountsAs::Succeeded);
        done.next = Some((step.to_owned(), lane.to_owned()));
        done.state = Some(state);
        done
    }

    /// The last step is done, with this state.
    pub fn done(state: String) -> Self {
        let mut done = Self::new(Status::Done, None, CountsAs::Succeeded);
        done.state = Some(state);
        done
    }

    /// The job was not tried, and is due again after a pause.
    pub const fn back(due_in: Duration) -> Self {
        Self::new(Status::Waiting, Some(due_in), CountsAs::Nothing)
    }

    /// The step failed, and is due again after a pause.
    pub fn again(due_in: Duration, error: String) -> Self {
        Self::new(Status::Waiting, Some(due_in), CountsAs::Failed).with(error)
    }

    /// The job was not tried, as a breaker within its step rejected it, or this worker does not know how to run it:
    /// due again after a pause. Meanwhile it [counts as due](crate::Counts::due), and its
    /// [`held_up`](crate::Job::held_up) says how often and since when, until it is tried,
    /// [waits again](crate::Store::unpark), or is [tried at once](crate::Store::retry_now).
    pub fn held_up(due_in: Duration, is_known: bool, error: String) -> Self {
        let counts_as = if is_known {
            CountsAs::Rejected
        } else {
            CountsAs::Unknown
        };
        Self::new(Status::Waiting, Some(due_in), counts_as).with(error)
    }

    /// The last try failed.
    pub fn dead(error: String) -> Self {
        Self::new(Status::Dead, None, CountsAs::Failed).with(error)
    }

    /// No worker can run the job as it is.
    pub fn parked(error: String) -> Self {
        Self::new(Status::Parked, None, CountsAs::Nothing).with(error)
    }

    fn with(mut self, error: String) -> Self {
        self.error = Some(error);
        self
    }

    /// Sets whether a person is to be notified, unless one was: of a delay once, and of the end in any case. The person
    /// who was notified of a job that has been [tried again](crate::Store::retry_now) since, or
    /// [taken up](crate::Store::unpark) and tried, was notified of another one.
    pub const fn tell(mut self, tell: bool) -> Self {
        self.tell = tell;
        self
    }
}

/// The result of a [`Save`]. By default the right was gone: nothing has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The right was still held, and the change is written.
    pub is_held: bool,
    /// A person is to be notified, and this is marked: no other worker is asked to.
    pub tell: bool,
}
