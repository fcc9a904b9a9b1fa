//! Whom an error concerns, and how often it counts.

use crate::parts::judged;
use crate::{AnyPermit, ErrorRule, Failure, Outcome};

/// Whom an error concerns, in addition to its [outcome](super::ErrorRule::outcome): says how often a failure counts.
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
    /// [young](crate::Permit#dropped).
    Caller,
    /// A time limit of the client, which may have been waiting for the host or for a slow reader. At the head it counts
    /// as its outcome says; so it does in a body if the client was waiting for the host when the limit passed. If not,
    /// the reader took so long, and it concerns the [caller](Self::Caller).
    Limit,
}

/// Reports a call according to what its result says and whom that concerns. If a rule panics, the call has failed.
pub(crate) fn report_by<P: AnyPermit>(
    permit: P,
    judge: impl FnOnce() -> (Outcome, Scope),
    why: impl FnOnce() -> String,
) {
    let (permit, (outcome, scope)) = judged(permit, judge);
    match (scope, outcome) {
        (Scope::Connection, Outcome::Failure(_)) => permit.report_shared(outcome, why),
        (Scope::Unprocessed, Outcome::Failure(failure)) => {
            permit.report_shared(at_least_one(failure).into(), why)
        }
        // Dropping the permit cancels it.
        (Scope::Caller, Outcome::Failure(_)) => None,
        _ => permit.report_because(outcome, why),
    };
}

/// [`report_by`] for a result whose errors a rule judges.
pub(crate) fn report_result<P: AnyPermit, T, E>(
    permit: P,
    result: &Result<T, E>,
    errors: &impl ErrorRule<E>,
    outcome: impl FnOnce() -> Outcome,
    why: impl FnOnce() -> String,
) {
    let scope = |error| errors.scope(error);
    let judge = || {
        (
            outcome(),
            result.as_ref().map_or_else(scope, |_| Scope::Call),
        )
    };
    report_by(permit, judge, why);
}

/// For a failure that says nothing by itself, but counts once for all calls that it ended.
fn at_least_one(failure: Failure) -> Failure {
    if failure == Failure::with_weight(0) {
        Failure::new()
    } else {
        failure
    }
}
