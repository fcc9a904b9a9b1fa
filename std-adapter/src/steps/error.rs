//! Why a step did not succeed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::resource::Rejection;

type BoxError = Box<dyn Error + Send + Sync>;

/// Why a step did not succeed. Made by `?` of any error, text, or `anyhow::Error`: then it was one try, and is tried again
/// by the [`Schedule`](super::Schedule).
///
/// An error that has the rejection of a circuit breaker in its chain costs no try: nothing was done. The step is due
/// again when that breaker said.
pub struct StepError {
    error: BoxError,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is tried again, not before so long.
    Failed(Option<Duration>),
    /// The same, but its resource is not asked to rest for so long: others may have more of a share of it.
    NotBefore(Duration),
    /// It makes no sense to try again.
    Final,
    /// A breaker within the step rejected it; come back in so long, if that is known.
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

    /// It failed, and is not to be tried again before so long: what a `Retry-After` says. The schedule may say later;
    /// more than ten years are taken for ten. The lane's breaker opens for that time, too, up to its
    /// [`max_retry_after`](crate::Config::max_retry_after).
    pub fn retry_after(time: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into(),
            kind: Kind::Failed(Some(time)),
        }
    }

    /// The same, for this job alone: what the `Retry-After` of a 429 says, whose quota others may not share. The
    /// lane's breaker counts a failure like any other.
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

    /// The error with what caused it, for history, logs and people: without what may be secret.
    pub(super) fn words(&self) -> String {
        let mut words = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Many errors show their cause themselves.
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
