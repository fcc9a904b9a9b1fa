//! Why a job was not kept.

use std::error::Error;
use std::fmt;

use super::JobError;
use super::store::StoreError;

/// Why a job was not kept.
#[derive(Debug)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The job cannot be kept.
    Job(JobError),
    /// The store failed: the job may or may not be kept. Trying again with the same key does no harm.
    Store(StoreError),
    /// These steps do not know the workflow: it was not passed to the builder.
    Unknown(&'static str),
    /// [`call_or_keep`](super::Steps::call_or_keep) was given a workflow of more than one step.
    Steps(&'static str),
    /// The [call](super::Steps::call_or_keep) did not succeed, and the store failed when the job was to be kept: it may
    /// or may not be kept.
    NotKept {
        /// Why the call was not done: the source of this error, with the rejection in its chain if there was one.
        why: Box<dyn Error + Send + Sync>,
        /// Why the job may not be kept.
        store: StoreError,
    },
}

impl fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(error) => fmt::Display::fmt(error, f),
            Self::Store(error) => write!(f, "the job may not be kept: {error}"),
            Self::Unknown(kind) => {
                write!(
                    f,
                    "workflow {kind:?} is not known here: give it to the builder"
                )
            }
            Self::Steps(kind) => write!(
                f,
                "workflow {kind:?} has more than one step, and `call_or_keep` is for one: use `run`"
            ),
            Self::NotKept { why, store } => write!(f, "{why}; and it may not be kept: {store}"),
        }
    }
}

impl Error for EnqueueError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Job(error) => error.source(),
            Self::Store(error) => error.source(),
            Self::Unknown(_) | Self::Steps(_) => None,
            Self::NotKept { why, .. } => Some(&**why),
        }
    }
}
