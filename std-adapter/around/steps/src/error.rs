// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors: a step did not succeed, a job was not kept, settings make no sense.

use std::fmt;
use std::time::Duration;

use atomic_breaker_server::{Failure, Outcome, Rejected, Rejection, Scope, State};
use thiserror::Error;

use super::state::Unread;
use super::text::unreadable;
use super::{LARGEST_STATE, LONGEST_KEY, redacted};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a step did not succeed. Made by `?` from any error, text, or `anyhow::Error`: that counts as one try,
/// and the step is tried again by the [`Schedule`](super::Schedule).
///
/// An error that has the rejection of a circuit breaker in its chain does not count as a try: nothing was done. The
/// step is due again when that breaker said.
#[derive(Debug)]
pub struct StepError {
    pub(super) error: BoxError,
    pub(super) kind: Kind,
    /// The outcome that the breaker of the lane is given.
    pub(super) outcome: Outcome,
    pub(super) scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Tried again, but not before this time has passed.
    Failed(Option<Duration>),
    /// Another try is pointless.
    Final,
    /// A breaker within the step rejected it.
    Rejected(Rejected),
}

impl StepError {
    /// No try will succeed: the job ends here, and a person is notified.
    pub fn end(error: impl Into<BoxError>) -> Self {
        Self::new(Kind::Final, error)
    }

    /// The step failed, and is not to be tried again before this time has passed: what a `Retry-After` says. The schedule may
    /// choose a later time; more than ten years counts as ten. For the lane's breaker it is a failure like others: if the rules
    /// trip by it, or it is a probe's, it opens for at least that time, up to its
    /// [`max_retry_after`](crate::Config::max_retry_after).
    pub fn retry_after(time: Duration, error: impl Into<BoxError>) -> Self {
        let failure = Failure::retry_after(time);
        Self::new(Kind::Failed(Some(time)), error).judged((failure.into(), Scope::Call))
    }

    /// Like [`retry_after`](Self::retry_after), for this job alone: the lane's breaker counts an ordinary failure.
    pub fn not_before(time: Duration, error: impl Into<BoxError>) -> Self {
        Self::new(Kind::Failed(Some(time)), error)
    }

    /// Like [`not_before`](Self::not_before), because the quota of the job's owner is used up, as a 429 says. Others have
    /// theirs, so the lane's breaker [counts nothing](Scope::Quota), and a probe succeeds. The time may be zero, if it is not
    /// known. (For responses there is `step_result`, with the feature `http`.)
    ///
    /// ```
    /// use atomic_breaker_steps::StepError;
    /// use std::time::Duration;
    ///
    /// # struct Throttled { wait: Option<Duration> }
    /// fn of_sdk(error: Throttled) -> StepError {
    ///     StepError::over_quota(error.wait.unwrap_or_default(), "throttled")
    /// }
    /// # of_sdk(Throttled { wait: None });
    /// ```
    pub fn over_quota(time: Duration, error: impl Into<BoxError>) -> Self {
        Self::not_before(time, error).judged((Outcome::Ignored, Scope::Quota))
    }

    /// A failure counts, unless it is [judged](Self::judged) otherwise.
    pub(super) fn new(kind: Kind, error: impl Into<BoxError>) -> Self {
        let outcome = match kind {
            Kind::Failed(_) => Failure::new().into(),
            // Not the resource's fault, or nothing was done.
            Kind::Final | Kind::Rejected(_) => Outcome::Ignored,
        };
        Self {
            error: error.into(),
            kind,
            outcome,
            scope: Scope::Call,
        }
    }

    /// Sets the outcome that the breaker of the lane is given, and its scope.
    pub(super) fn judged(self, (outcome, scope): (Outcome, Scope)) -> Self {
        Self {
            outcome,
            scope,
            ..self
        }
    }

    /// Returns whether a half-open breaker within the step rejected it.
    pub(super) fn is_half_open(&self) -> bool {
        matches!(self.kind, Kind::Rejected(it) if it.state() == State::HalfOpen)
    }

    /// The error and its causes, for history, logs and people: without what may be secret.
    pub(super) fn words(&self) -> String {
        let mut words = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Many errors display their cause themselves.
            if !words.contains(&more) {
                words.push_str(": ");
                words.push_str(&more);
            }
            cause = error.source();
        }
        redacted(&words)
    }
}

impl<E: Into<BoxError>> From<E> for StepError {
    fn from(error: E) -> Self {
        let error = error.into();
        let kind = match Rejection::in_chain(&*error) {
            Some(rejection) => Kind::Rejected(rejection.rejected),
            None => Kind::Failed(None),
        };
        Self::new(kind, error)
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

/// The reason why steps cannot be run, or requests cannot be kept, with these settings, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StepsError(String);

/// An error with this text.
pub(super) fn wrong<T>(words: impl Into<String>) -> Result<T, StepsError> {
    Err(StepsError(words.into()))
}

/// The reason why a job was not kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The job cannot be kept.
    #[error(transparent)]
    Job(JobError),
    /// The store failed: the job may or may not be kept. Trying again with the same key does no harm.
    #[error("the job may not be kept: {0}")]
    Store(#[source] StoreError),
    /// These steps do not know the workflow: it was not passed to the builder.
    #[error("workflow {0:?} is not known here: give it to the builder")]
    Unknown(&'static str),
    /// [`call_or_keep`](super::Steps::call_or_keep) was given a workflow of more than one step.
    #[error("workflow {0:?} has more than one step, and `call_or_keep` is for one: use `run`")]
    Steps(&'static str),
    /// The [call](super::Steps::call_or_keep) did not succeed, and the store failed when the job was to be kept: it may
    /// or may not be kept.
    #[error("{why}; and it may not be kept: {store}")]
    NotKept {
        /// The reason why the call was not done, with the rejection in its chain if there was one.
        #[source]
        why: BoxError,
        /// The reason why the job may not be kept.
        store: StoreError,
    },
}

/// The reason why there is no such job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobError {
    /// The key is empty, contains NUL, or is too long: its length in bytes.
    #[error(
        "the key has {0} bytes, or contains NUL: set one of 1 to {most} bytes without NUL, such as an order number",
        most = LONGEST_KEY
    )]
    Key(usize),
    /// The state is too large: its size in bytes of JSON.
    #[error("the state has {0} bytes: keep {most} at most, and the rest elsewhere", most = LARGEST_STATE)]
    Large(usize),
    /// The state cannot be expressed as JSON.
    #[error("the state is not JSON: {0}")]
    State(serde_json::Error),
    /// The JSON of the state cannot be read back, as of a number that is not one.
    #[error(
        "the state cannot be read back from its JSON: {}; JSON has no NaN and no infinity, so keep an `Option` in their \
         place", unreadable(.0)
    )]
    Unreadable(serde_json::Error),
    /// The type of the state does not read what it writes: a name in its JSON.
    #[error(
        "the state would lose {0:?}, which its type writes but does not read: make serde read it, or not write it"
    )]
    Lost(String),
}

impl From<Unread> for JobError {
    fn from(why: Unread) -> Self {
        match why {
            Unread::Json(error) => Self::Unreadable(error),
            Unread::Lost(name) => Self::Lost(name),
        }
    }
}

/// The reason why a store did not do what it was asked.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct StoreError(BoxError);

impl StoreError {
    /// Wraps the error of a database.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }
}
