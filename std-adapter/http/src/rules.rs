//! Which statuses and which errors are failures: rules that closures can replace.

use http::StatusCode;

use crate::{Failure, Outcome, Scope};

/// Says what a status counts as. Closures `Fn(StatusCode) -> Outcome` implement it.
///
/// ```
/// use atomic_breaker_http::{Failure, Outcome, StatusRule, UsualStatuses};
/// use http::StatusCode;
///
/// // A bad gateway is worse than the rest.
/// let rule = |status| match status {
///     StatusCode::BAD_GATEWAY => Failure::with_weight(3).into(),
///     other => UsualStatuses.outcome(other),
/// };
/// assert_eq!(rule.outcome(StatusCode::BAD_GATEWAY), Failure::with_weight(3).into());
/// assert_eq!(rule.outcome(StatusCode::NOT_FOUND), Outcome::Success);
/// ```
pub trait StatusRule {
    /// What a response with this status counts as, its `Retry-After` aside.
    fn outcome(&self, status: StatusCode) -> Outcome;
}

impl<F: Fn(StatusCode) -> Outcome> StatusRule for F {
    fn outcome(&self, status: StatusCode) -> Outcome {
        self(status)
    }
}

/// 500 to 599, 408 and 429 are failures of weight 1. Every other status is a success: even with "404 Not
/// Found" the server has responded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsualStatuses;

impl StatusRule for UsualStatuses {
    fn outcome(&self, status: StatusCode) -> Outcome {
        let failed = status.is_server_error()
            || status == StatusCode::REQUEST_TIMEOUT
            || status == StatusCode::TOO_MANY_REQUESTS;
        failure_if(failed)
    }
}

/// The statuses for which the closure says `true` are failures of weight 1, the others successes.
#[derive(Clone, Copy, Debug)]
pub struct FailsOn<F>(pub F);

impl<F: Fn(StatusCode) -> bool> StatusRule for FailsOn<F> {
    fn outcome(&self, status: StatusCode) -> Outcome {
        failure_if(self.0(status))
    }
}

/// Says what an error counts as: that of a call without a response, or of a body that broke off. Closures
/// `Fn(&E) -> Outcome` implement it.
///
/// ```
/// use atomic_breaker_http::{ErrorRule, Failure, Outcome};
/// use std::io::{self, ErrorKind};
///
/// let rule = |error: &io::Error| match error.kind() {
///     ErrorKind::ConnectionRefused => Failure::with_weight(3).into(),
///     // Not the server's fault.
///     ErrorKind::InvalidInput => Outcome::Ignored,
///     _ => Failure::new().into(),
/// };
/// let refused = io::Error::from(ErrorKind::ConnectionRefused);
/// assert_eq!(rule.outcome(&refused), Failure::with_weight(3).into());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rule for errors of type `{E}`",
    note = "a closure with the type of the error is one: `|error: &{E}| -> Outcome {{ .. }}`"
)]
pub trait ErrorRule<E: ?Sized> {
    /// What the error says about the server.
    fn outcome(&self, error: &E) -> Outcome;

    /// Whom it concerns, and so how often it counts: the call alone unless a rule knows better, such as [`UsualErrors`](crate::UsualErrors).
    fn scope(&self, error: &E) -> Scope {
        let _ = error;
        Scope::Call
    }
}

impl<E: ?Sized, F: Fn(&E) -> Outcome> ErrorRule<E> for F {
    fn outcome(&self, error: &E) -> Outcome {
        self(error)
    }
}

/// Every error is a failure of weight 1: the default of a classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EveryError;

impl<E: ?Sized> ErrorRule<E> for EveryError {
    fn outcome(&self, _: &E) -> Outcome {
        Failure::new().into()
    }
}

fn failure_if(failed: bool) -> Outcome {
    if failed {
        Failure::new().into()
    } else {
        Outcome::Success
    }
}
