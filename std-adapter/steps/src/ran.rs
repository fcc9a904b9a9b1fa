//! The result of running a job at once.

use serde::de::DeserializeOwned;

use crate::text::unreadable;
use crate::{Job, JobId, Status};

/// The result of running a job at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran<S> {
    /// All its steps are done: the final state.
    Done(S),
    /// The job is kept, and goes on when it can.
    Later(JobId),
    /// Another try is pointless: a step [said so](crate::StepError::end), or the state is not readable.
    Ended {
        /// The job, which is kept as it is; `None` if the first try of [`call_or_keep`](crate::Steps::call_or_keep)
        /// ended it.
        id: Option<JobId>,
        /// The error in words.
        error: String,
    },
}

impl Ran<String> {
    /// The result so far of a job that existed already.
    pub(crate) fn of(job: Job) -> Self {
        match job.status {
            Status::Done => Self::Done(job.state),
            Status::Waiting | Status::Running => Self::Later(job.id),
            status => Self::Ended {
                id: Some(job.id),
                error: format!("it is {}", status.name()),
            },
        }
    }

    /// Reads the final state of this job.
    pub(crate) fn read<S: DeserializeOwned>(self, id: Option<JobId>) -> Ran<S> {
        match self {
            Self::Done(state) => match serde_json::from_str(&state) {
                Ok(state) => Ran::Done(state),
                Err(error) => Ran::Ended {
                    id,
                    error: unreadable(&error),
                },
            },
            Self::Later(id) => Ran::Later(id),
            Self::Ended { id, error } => Ran::Ended { id, error },
        }
    }
}
