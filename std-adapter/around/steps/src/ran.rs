// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of running a job at once.

use serde::de::DeserializeOwned;

use crate::job::{Job, JobId, Status};
use crate::text::unreadable;

/// The result of running a job at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran<S> {
    /// All its steps are done: the final state.
    Done(S),
    /// The job is kept, and goes on when it can: [`wait_done`](crate::Steps::wait_done) waits for that, and
    /// [`progress`](crate::Steps::progress) says later how far it has come.
    Later {
        /// The job.
        id: JobId,
        /// The step that is next, or in progress, as far as this call knows: a worker may have gone on since.
        step: String,
        /// The state before that step; `None` if another release has kept one that is not readable here.
        state: Option<S>,
    },
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
    /// The job goes on later.
    pub(crate) fn later(job: &Job) -> Self {
        Self::Later {
            id: job.id,
            step: job.step.clone(),
            state: Some(job.state.clone()),
        }
    }

    /// The result so far of a job that existed already.
    pub(crate) fn of(job: Job) -> Self {
        match job.status {
            Status::Done => Self::Done(job.state),
            Status::Waiting | Status::Running => Self::later(&job),
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
            Self::Later { id, step, state } => Ran::Later {
                id,
                step,
                state: state.and_then(|state| serde_json::from_str(&state).ok()),
            },
            Self::Ended { id, error } => Ran::Ended { id, error },
        }
    }
}
