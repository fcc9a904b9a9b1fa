//! An error and its causes, looking inside errors that wrap others.

use std::error::Error;
use std::io;
use std::iter::successors;

use super::WithCauses;
#[cfg(feature = "reqwest")]
use crate::client_error::ClientError;
use crate::{CallError, ServiceError, Timed};

/// An error and its causes, including the errors that others wrap.
pub(crate) fn causes_of<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    // More causes than errors have, and few enough to be fast.
    successors(Some(error), |&error| within(error)).take(16)
}

/// The next cause. The source of an error that wraps another one is the source of that one.
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

/// The error inside one of this crate's errors around an `E`.
fn within_ours<'a, E: Error + 'static>(
    error: &'a (dyn Error + 'static),
) -> Option<&'a (dyn Error + 'static)> {
    if let Some(WithCauses(inner)) = error.downcast_ref::<WithCauses<E>>() {
        return Some(inner);
    }
    if let Some(Timed::Failed(inner)) = error.downcast_ref::<Timed<E>>() {
        return Some(inner);
    }
    if let Some(CallError::Failed(inner)) = error.downcast_ref::<CallError<E>>() {
        return Some(inner);
    }
    if let Some(ServiceError::Failed(inner)) = error.downcast_ref::<ServiceError<E>>() {
        return Some(inner);
    }
    if let Some(crate::request_error::RequestError::Failed(inner)) = error.downcast_ref() {
        let inner: &E = inner;
        return Some(inner);
    }
    None
}
