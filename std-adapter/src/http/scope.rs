//! Whom an error concerns, and how often it counts.

use crate::{AnyPermit, Outcome};

/// Whom an error concerns, beside its [outcome](super::ErrorRule::outcome): says how often a failure counts.
///
/// ```
/// use atomic_breaker_std::http::{ErrorRule, Scope};
/// use std::io;
///
/// let rule = |_: &io::Error| atomic_breaker_std::Failure::new().into();
/// assert_eq!(rule.scope(&io::Error::other("reset")), Scope::Call, "a closure knows no other");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// This call alone: counts as its outcome says.
    #[default]
    Call,
    /// A connection that ended, with all calls that were under way on it. **One** of these counts, the others are ignored:
    /// [`AnyPermit::report_shared`]. A host that breaks each connection still fails once for each.
    Connection,
    /// Nobody: the request was refused before the host looked at it. Ignored; it may be sent again, whatever its method.
    Unprocessed,
    /// The caller, who set a time limit of its own that has passed: as if it had dropped the call, which is neutral while
    /// the call is [young](crate::Permit#dropped).
    Caller,
    /// A time limit of the client's, who may have waited for the host or for a slow reader. At the head it counts as its
    /// outcome says; so it does in a body, if the host was waited for when it passed. If not, it was the reader who took
    /// so long, and it concerns the [caller](Self::Caller).
    Limit,
}

/// Reports a call that failed, by the outcome of its error and by whom that concerns.
pub(crate) fn report_error<P: AnyPermit>(
    permit: P,
    outcome: Outcome,
    scope: Scope,
    why: impl FnOnce() -> String,
) {
    match (scope, outcome) {
        (Scope::Connection, Outcome::Failure(_)) => permit.report_shared(outcome, why),
        (Scope::Unprocessed, Outcome::Failure(_)) => permit.report(Outcome::Ignored),
        // Dropping the permit cancels it.
        (Scope::Caller, Outcome::Failure(_)) => None,
        _ => permit.report_because(outcome, why),
    };
}
