//! Which codes are failures.

use crate::{Failure, GrpcCode, Outcome};

/// Says what a code counts as. Closures `Fn(GrpcCode) -> Outcome` implement it.
///
/// ```
/// use atomic_breaker_http::{CodeRule, Failure, GrpcCode, Outcome, UsualCodes};
///
/// // A server that maps its own errors to `UNKNOWN`.
/// let rule = |code| match code {
///     GrpcCode::Unknown => Outcome::Ignored,
///     other => UsualCodes.outcome(other),
/// };
/// assert_eq!(rule.outcome(GrpcCode::Unavailable), Failure::new().into());
/// ```
pub trait CodeRule {
    /// What a call that ended with this code counts as, its push-back aside.
    fn outcome(&self, code: GrpcCode) -> Outcome;
}

impl<F: Fn(GrpcCode) -> Outcome> CodeRule for F {
    fn outcome(&self, code: GrpcCode) -> Outcome {
        self(code)
    }
}

/// `UNAVAILABLE`, `INTERNAL`, `DATA_LOSS`, `UNKNOWN`, `DEADLINE_EXCEEDED` and `RESOURCE_EXHAUSTED` are failures of
/// weight 1, `CANCELLED` is ignored, the rest are successes: the server has responded.
///
/// ```
/// use atomic_breaker_http::{CodeRule, Failure, GrpcCode, Outcome, UsualCodes};
///
/// assert_eq!(UsualCodes.outcome(GrpcCode::Internal), Failure::new().into());
/// assert_eq!(UsualCodes.outcome(GrpcCode::Cancelled), Outcome::Ignored);
/// assert_eq!(UsualCodes.outcome(GrpcCode::NotFound), Outcome::Success);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsualCodes;

impl CodeRule for UsualCodes {
    fn outcome(&self, code: GrpcCode) -> Outcome {
        match code {
            GrpcCode::Unavailable
            | GrpcCode::Internal
            | GrpcCode::DataLoss
            | GrpcCode::Unknown
            | GrpcCode::DeadlineExceeded
            | GrpcCode::ResourceExhausted => Failure::new().into(),
            GrpcCode::Cancelled => Outcome::Ignored,
            _ => Outcome::Success,
        }
    }
}
