// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an error says about the server, whom it concerns, and how often it counts.

use atomic_breaker_server::{AnyError, AnyPermit};
use http::StatusCode;

use crate::{Failure, Outcome};

/// Says what an error counts as: that of a call without a response, or of a truncated body. Closures
/// `|error: &E| -> Outcome` implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rule for errors of type `{E}`",
    note = "a closure with the type of the error is one: `|error: &{E}| -> Outcome {{ .. }}`"
)]
pub trait ErrorRule<E: ?Sized> {
    /// What the error says about the server, and whom it concerns, and so how often it counts: the call alone unless a rule
    /// knows better, such as [`UsualErrors`](crate::UsualErrors).
    fn judge(&self, error: &E) -> (Outcome, Scope);

    /// What the error says about the server.
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

/// Whom an error concerns, in addition to its [outcome](ErrorRule::outcome): says how often a failure counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// This call alone: counts as its outcome says.
    #[default]
    Call,
    /// A connection that ended, with all calls that were under way on it. **One** of these counts, the others are
    /// ignored: [`AnyPermit::report_shared`]. A host that breaks every connection still fails once for each.
    Connection,
    /// A connection that refused the request before the host looked at it. That is no failure by itself: the request
    /// may be sent again, whatever its method. But **one** of the calls that were refused while they were under way
    /// together counts, as with [`Connection`](Self::Connection), or a host that refuses everything would never open
    /// its breaker. A failure of weight 0, which `UsualErrors` returns here for the sake of retries, then counts 1.
    Unprocessed,
    /// The caller, whose own time limit has passed: as if it had dropped the call, which is neutral while the call is
    /// [young](atomic_breaker_server::Permit#dropped).
    Caller,
    /// A time limit of the client, which may have been waiting for the host or for a slow reader. At the head it counts
    /// as its outcome says; so it does in a body if the client was waiting for the host when the limit passed. If not,
    /// the reader took so long, and it concerns the [caller](Self::Caller).
    Limit,
    /// The caller, whose quota is used up: a 429, `RESOURCE_EXHAUSTED`. Its call is ignored, so that one tenant cannot
    /// shut out the others, nor hide from them that the host behind a limiter is dead. A **probe** succeeds with it: the
    /// host has responded, and otherwise a tenant that takes each probe would keep the others out. It needs to know which
    /// calls are probes, as layers and [`AnyPermit::run_async`] do; with
    /// [`call_with`](atomic_breaker::Breaker::call_with) such a probe is ignored, too, and the next one decides.
    Quota,
}

impl Scope {
    /// The same, but a time limit is the caller's own.
    pub(crate) fn of_own_limit(self, is_own: bool) -> Self {
        match self {
            Self::Limit if is_own => Self::Caller,
            scope => scope,
        }
    }
}

/// Reports a call according to what its result says and whom that concerns. If a rule panics, the call has failed.
pub(crate) fn report_by<P: AnyPermit>(
    permit: P,
    judge: impl FnOnce() -> (Outcome, Scope),
    why: impl FnOnce() -> String,
) {
    let (permit, (outcome, scope)) = permit.judged(judge);
    match (scope, outcome) {
        (Scope::Connection, Outcome::Failure(_)) => permit.report_shared(outcome, why),
        (Scope::Unprocessed, Outcome::Failure(failure)) => {
            // It says nothing by itself, but counts once for all calls that it ended.
            let says_nothing = failure == Failure::with_weight(0);
            let failure = if says_nothing {
                Failure::new()
            } else {
                failure
            };
            permit.report_shared(failure.into(), why)
        }
        // Dropping the permit cancels it.
        (Scope::Caller, Outcome::Failure(_)) => None,
        (Scope::Quota, Outcome::Ignored) if permit.is_probe() => permit.report(Outcome::Success),
        _ => permit.report_because(outcome, why),
    };
}

/// Whether a status says that the quota of a caller is used up.
pub(crate) fn is_quota(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
}

/// Whom a response concerns.
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
