//! What the errors of hyper, hyper-util and reqwest say about the host.

use std::error::Error;
use std::io;
use std::iter::successors;

#[cfg(feature = "reqwest")]
use super::rules::{StatusRule, UsualStatuses};
use super::{ErrorRule, WithCauses};
#[cfg(feature = "reqwest")]
use crate::reqwest::ClientError;
use crate::{CallError, Failure, Outcome, ServiceError, Timed};

/// A [rule](ErrorRule) for the errors of hyper, hyper-util, reqwest and reqwest-middleware, alone or as the cause of
/// another error: a dead host fails, and a mistake of the caller's is no failure of the host. What `ClientGuard` and
/// `BreakerMiddleware` do unless told otherwise.
///
/// | error | counts as |
/// |---|---|
/// | no connection, a connection that is closed or reset, a time-out, an answer that is not HTTP, all others | failure of weight 1 |
/// | reqwest: `is_builder` (a URL without a host, a scheme that is not HTTP) | ignored |
/// | hyper-util: a URI that is not absolute, a method or version that cannot be sent, a scheme that its connector does not know | ignored |
/// | hyper: `is_user`, above all the body of the request, when it fails | ignored |
/// | a [`Rejection`](crate::Rejection) of another breaker, or another error that shows itself as one | ignored |
/// | reqwest: `is_redirect` (too many of them, or one that leads nowhere) | success: the host has answered |
/// | reqwest: an error with a status (`error_for_status`) | as the status: 5xx, 408 and 429 are failures |
///
/// ```
/// use atomic_breaker_std::http::{ErrorRule, HttpClassifier, UsualErrors, UsualStatuses};
/// use atomic_breaker_std::{Failure, Outcome};
/// use std::io;
///
/// static HTTP: HttpClassifier<UsualStatuses, UsualErrors> =
///     HttpClassifier::with_rules(UsualStatuses, UsualErrors);
///
/// // First a rule of one's own.
/// let rule = |error: &io::Error| match error.kind() {
///     io::ErrorKind::ConnectionRefused => Failure::with_weight(3).into(),
///     _ => UsualErrors.outcome(error),
/// };
/// assert_eq!(rule(&io::Error::other("reset")), Failure::new().into());
/// # let _ = (&HTTP, Outcome::Ignored);
/// ```
///
/// A boxed error is no `Error`: `.map_err(std::io::Error::other)` makes one of it, and this rule looks inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsualErrors;

impl<E: Error + 'static> ErrorRule<E> for UsualErrors {
    fn outcome(&self, error: &E) -> Outcome {
        known(error).unwrap_or_else(|| Failure::new().into())
    }
}

/// An error of whatever type.
impl ErrorRule<dyn Error + Send + Sync> for UsualErrors {
    fn outcome(&self, error: &(dyn Error + Send + Sync + 'static)) -> Outcome {
        known(error).unwrap_or_else(|| Failure::new().into())
    }
}

/// What is known of an error by it or one of its causes.
fn known(error: &(dyn Error + 'static)) -> Option<Outcome> {
    causes_of(error).find_map(|cause| {
        if is_callers(cause) {
            return Some(Outcome::Ignored);
        }
        known_to_reqwest(cause)
    })
}

/// An error and its causes, those included that others stand for.
pub(crate) fn causes_of<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    // More causes than an error has, fewer than would take long.
    successors(Some(error), |&error| within(error)).take(16)
}

/// The next cause. The source of an error that stands for another one is the source of that.
fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(inner) = error.downcast_ref().and_then(io::Error::get_ref) {
        return Some(inner);
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = error.downcast_ref::<ClientError>() {
        return Some(&**error);
    }
    if let Some(inner) =
        within_ours::<hyper::Error>(error).or_else(|| within_ours::<io::Error>(error))
    {
        return Some(inner);
    }
    #[cfg(feature = "reqwest")]
    if let Some(inner) =
        within_ours::<reqwest::Error>(error).or_else(|| within_ours::<ClientError>(error))
    {
        return Some(inner);
    }
    #[cfg(feature = "reqwest-middleware")]
    if let Some(error) = error.downcast_ref::<reqwest_middleware::Error>() {
        return Some(match error {
            reqwest_middleware::Error::Middleware(error) => error.as_ref(),
            reqwest_middleware::Error::Reqwest(error) => error,
        });
    }
    error.source()
}

/// What an error of this crate around an `E` stands for.
fn within_ours<'a, E: Error + 'static>(
    error: &'a (dyn Error + 'static),
) -> Option<&'a (dyn Error + 'static)> {
    if let Some(WithCauses(inner)) = error.downcast_ref::<WithCauses<E>>() {
        return Some(inner);
    }
    if let Some(Timed::Failed(inner)) = error.downcast_ref::<Timed<E>>() {
        return Some(inner);
    }
    match error.downcast_ref::<CallError<E>>() {
        Some(CallError::Failed(inner)) => return Some(inner),
        Some(CallError::Rejected(inner)) => return Some(inner),
        None => {}
    }
    match error.downcast_ref::<ServiceError<E>>() {
        Some(ServiceError::Failed(inner)) => return Some(inner),
        Some(ServiceError::Rejected(inner)) => return Some(inner),
        None => {}
    }
    #[cfg(feature = "client")]
    match error.downcast_ref::<crate::client::RequestError<E>>() {
        Some(crate::client::RequestError::Failed(inner)) => return Some(inner),
        Some(crate::client::RequestError::Rejected(inner)) => return Some(inner),
        _ => {}
    }
    None
}

const RESET_BY_SENDER: &str = "stream error sent by user: ";

/// Whether the request was not sent, or ended since its sender failed.
fn is_callers(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        // Over HTTP/2 nothing else is left of a body that failed: hyper resets the stream.
        let is_reset = |cause: &dyn Error| cause.to_string().starts_with(RESET_BY_SENDER);
        return error.is_user() || error.source().is_some_and(is_reset);
    }
    // A rejection, also where another error stands for it; hyper-util's errors say no more than their texts.
    let text = error.to_string();
    let reason = || error.source().map(ToString::to_string).unwrap_or_default();
    text.starts_with("circuit breaker is ")
        || text.starts_with("client error (User")
        || text == "client error (Connect)" && reason().starts_with("invalid URL, ")
}

#[cfg(not(feature = "reqwest"))]
fn known_to_reqwest(_: &(dyn Error + 'static)) -> Option<Outcome> {
    None
}

#[cfg(feature = "reqwest")]
fn known_to_reqwest(error: &(dyn Error + 'static)) -> Option<Outcome> {
    let error = error.downcast_ref::<reqwest::Error>()?;
    if let Some(status) = error.status() {
        Some(UsualStatuses.outcome(status))
    } else if error.is_builder() {
        Some(Outcome::Ignored)
    } else if error.is_redirect() {
        Some(Outcome::Success)
    } else {
        None
    }
}
