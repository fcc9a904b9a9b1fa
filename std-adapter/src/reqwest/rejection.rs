//! Rejections among the errors of reqwest-middleware.

use reqwest_middleware::Error;

use crate::Rejection;
use crate::http::causes_of;

/// The rejection because of which a request was not sent, also beneath the errors of other middlewares, such as
/// those of retries.
///
/// ```
/// use atomic_breaker_std::reqwest::rejection_of;
/// use reqwest_middleware::Error;
///
/// let error = Error::middleware(std::io::Error::other("no token"));
/// assert_eq!(rejection_of(&error), None);
/// ```
pub fn rejection_of(error: &Error) -> Option<&Rejection> {
    let direct = match error {
        Error::Middleware(error) => error.downcast_ref(),
        Error::Reqwest(_) => None,
    };
    direct.or_else(|| causes_of(error).find_map(|cause| cause.downcast_ref()))
}

/// The rejection is the source and not the error itself, as middlewares that pass an error on hand out its source only.
pub(super) fn not_sent(rejection: Rejection) -> Error {
    let reason = format!(
        "request not sent, as its circuit breaker is {}",
        rejection.state()
    );
    Error::Middleware(anyhow::Error::new(rejection).context(reason))
}
