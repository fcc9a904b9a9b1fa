// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules that classify errors.

use atomic_breaker_server::{AnyError, AnyPermit, Scope};
use http::StatusCode;

use crate::{Failure, Outcome};

/// Says what an error counts as: that of a call without a response, or of a truncated body. Closures
/// `|error: &E| -> Outcome` implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rule for errors of type `{E}`",
    note = "a closure with the type of the error is one: `|error: &{E}| -> Outcome {{ .. }}`"
)]
pub trait ErrorRule<E: ?Sized> {
    /// Classifies the error, and decides whom it concerns and so how often it counts: the call alone unless a rule
    /// knows better, such as [`UsualErrors`](crate::UsualErrors).
    fn judge(&self, error: &E) -> (Outcome, Scope);

    /// Classifies the error.
    fn outcome(&self, error: &E) -> Outcome {
        self.judge(error).0
    }

    /// The words about an error of a body, if it has more to say than that the body was cut off.
    #[doc(hidden)]
    fn words(&self, error: &E) -> Option<String> {
        let _ = error;
        None
    }
}

impl<E: ?Sized, F: Fn(&E) -> Outcome> ErrorRule<E> for F {
    fn judge(&self, error: &E) -> (Outcome, Scope) {
        (self(error), Scope::Call)
    }
}

/// Every error is a failure of weight 1: the default of a classifier.
impl<E: ?Sized> ErrorRule<E> for AnyError {
    fn judge(&self, _: &E) -> (Outcome, Scope) {
        (Failure::new().into(), Scope::Call)
    }
}

/// Reports a call according to what its result says and whom that concerns. If a rule panics, the call has failed.
pub(crate) fn report_by<P: AnyPermit>(
    permit: P,
    judge: impl FnOnce() -> (Outcome, Scope),
    why: impl FnOnce() -> String,
) {
    let (permit, (outcome, scope)) = permit.judged(judge);
    permit.report_scoped(outcome, scope, why);
}

/// Returns whether a status says that the quota of a caller is used up.
pub(crate) fn is_quota(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
}

/// The outcome of a status of 500 and above that answers one request and says nothing of the others; `None` for any other
/// status.
pub(crate) fn of_one_request(status: StatusCode) -> Option<Outcome> {
    match status {
        // The server has understood the request, and says no: to this method, this version, this much to store.
        StatusCode::NOT_IMPLEMENTED
        | StatusCode::HTTP_VERSION_NOT_SUPPORTED
        | StatusCode::INSUFFICIENT_STORAGE => Some(Outcome::Success),
        // From a network that wants a login first (RFC 6585, 6): the server was not asked.
        StatusCode::NETWORK_AUTHENTICATION_REQUIRED => Some(Outcome::Ignored),
        _ => None,
    }
}

/// Decides whom a response concerns.
pub(crate) fn scope_of_status(status: StatusCode, outcome: Outcome) -> Scope {
    if is_quota(status) && outcome == Outcome::Ignored {
        Scope::Quota
    } else {
        Scope::Call
    }
}

/// "503 Service Unavailable"; "599", which has no name.
pub(crate) fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(name) => format!("{} {name}", status.as_str()),
        None => status.as_str().to_owned(),
    }
}
