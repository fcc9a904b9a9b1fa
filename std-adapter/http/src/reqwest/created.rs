// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rejections as errors of reqwest-middleware.

use reqwest_middleware::Error;

use crate::Rejection;

/// The rejection that kept a request from being sent, even inside the errors of other middlewares, such as those of
/// retries: [`Rejection::in_chain`], which also finds one that is the error of a middleware itself.
pub fn rejection_of(error: &Error) -> Option<Rejection> {
    match error {
        Error::Middleware(error) => Rejection::in_chain(error.as_ref()),
        Error::Reqwest(error) => Rejection::in_chain(error),
    }
}

/// The rejection is the source and not the error itself, as middlewares that pass an error on expose only its source.
pub(super) fn not_sent(rejection: Rejection) -> Error {
    let reason = if rejection.is_without_key() || rejection.is_over_limit() {
        rejection.to_string()
    } else {
        format!(
            "request not sent, because its circuit breaker is {}",
            rejection.state()
        )
    };
    Error::Middleware(anyhow::Error::new(rejection).context(reason))
}
