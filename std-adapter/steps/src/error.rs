//! Why a step did not succeed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker_resource::Rejection;

type BoxError = Box<dyn Error + Send + Sync>;

/// Why a step did not succeed. Made by `?` from any error, text, or `anyhow::Error`: that counts as one try, and the
/// step is tried again by the [`Schedule`](super::Schedule).
///
/// An error that has the rejection of a circuit breaker in its chain does not count as a try: nothing was done. The
/// step is due again when that breaker said.
pub struct StepError {
    error: BoxError,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is tried again, but not before this time has passed.
    Failed(Option<Duration>),
    /// The same, but its resource is not asked to rest for that time: others may have a larger share of it.
    NotBefore(Duration),
    /// Another try is pointless.
    Final,
    /// A breaker within the step rejected it; try again after this time, if it is known.
    Rejected(Option<Duration>),
}

impl StepError {
    /// No try will succeed: the job ends here, and a person is told.
    pub fn end(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into(),
            kind: Kind::Final,
        }
    }

    /// It failed, and is not to be tried again before this time has passed: what a `Retry-After` says. The schedule may
    /// choose a later time; more than ten years counts as ten. The lane's breaker opens for that time, too, up to its
    /// [`max_retry_after`](crate::Config::max_retry_after).
    pub fn retry_after(time: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into(),
            kind: Kind::Failed(Some(time)),
        }
    }

    /// The same, for this job alone: what the `Retry-After` of a 429 says, as other jobs may not share its quota. The
    /// lane's breaker counts an ordinary failure.
    pub fn not_before(time: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into(),
            kind: Kind::NotBefore(time),
        }
    }

    /// The error.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }

    pub(super) fn into_error(self) -> BoxError {
        self.error
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
        super::kept(&words)
    }
}

impl<E: Into<BoxError>> From<E> for StepError {
    fn from(error: E) -> Self {
        let error = error.into();
        let kind = match Rejection::in_chain(&*error) {
            Some(rejection) => Kind::Rejected(rejection.retry_in()),
            None => Kind::Failed(None),
        };
        Self { error, kind }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl fmt::Debug for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepError")
            .field("error", &self.error)
            .field("kind", &self.kind)
            .finish()
    }
}
