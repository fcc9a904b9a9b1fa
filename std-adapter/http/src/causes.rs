// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors with their causes and without secrets; why there is no response.

use std::error::Error;
use std::fmt::{self, Write};
use std::io;
use std::iter::successors;

use atomic_breaker_server::CallError;
use atomic_breaker_server::redact::without_secrets;

#[cfg(feature = "reqwest")]
use crate::client_error::ClientError;
use crate::{Rejection, ServiceError, Timed};

/// An error whose text names its causes, to be shown, logged and kept by a breaker: at most 8 of them and 512 bytes,
/// without the URL that reqwest adds, and without likely secrets in the others.
///
/// ```text
/// hyper-util:  client error (Connect)
/// this:        client error (Connect): tcp connect error: Connection refused (os error 111)
/// ```
///
/// A [`ClientGuard`](crate::ClientGuard) does so by itself. Elsewhere it goes directly below the breaker:
/// `.map_err(WithCauses)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithCauses<E>(pub E);

impl<E: Error + 'static> fmt::Display for WithCauses<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(&self.0))
    }
}

impl<E: Error + 'static> Error for WithCauses<E> {
    /// The source of the inner error: `Display` shows it, too, but here code that walks the chain finds it whatever `E` is.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// An error and its causes, in a few words, [without what may be secret](atomic_breaker_server::redact::without_secrets): at most 512
/// bytes of at most eight of them.
pub fn text_of(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in successors(Some(error), |&error| error.source()).take(8) {
        // Cut only after secrets are removed: half a secret does not look like one. This is more than what is examined
        // there.
        let words = without_secrets(&bounded(cause, 17 * 1024));
        // Some texts already name the cause.
        if text.is_empty() {
            text = words;
        } else if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
    }
    bounded(&text, 512)
}

/// At most this many bytes of a text, however long it is.
fn bounded(text: impl fmt::Display, max_bytes: usize) -> String {
    struct Bounded(String, usize);
    impl Write for Bounded {
        fn write_str(&mut self, more: &str) -> fmt::Result {
            let room = self.1 - self.0.len();
            if more.len() <= room {
                self.0.push_str(more);
                return Ok(());
            }
            let fits = (0..=room).rev().find(|&end| more.is_char_boundary(end));
            self.0.push_str(&more[..fits.unwrap_or(0)]);
            Err(fmt::Error)
        }
    }
    let mut bounded = Bounded(String::new(), max_bytes);
    // Fails when it is full, keeping what fits.
    let _ = write!(bounded, "{text}");
    bounded.0
}

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

/// The error inside one of these packages' errors around an `E`.
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
    if let Some(RequestError::Failed(inner)) = error.downcast_ref() {
        let inner: &E = inner;
        return Some(inner);
    }
    None
}

/// The reason why a request got no response. A response of any status is a response: only the breaker and the retry
/// look at the status.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError<E> {
    /// The breaker of its host rejected it, so it was never sent. If a retry is rejected, the result of the previous
    /// try is returned instead.
    Rejected(Rejection),
    /// All tries and pauses together took longer than the [deadline](crate::ClientConfig::deadline) of all requests.
    DeadlineExceeded,
    /// They took longer than the caller gave this request, by a [`Deadline`](crate::Deadline) shorter than that. Its tries go
    /// on and are judged, so this says nothing about the host: [`UsualErrors`](crate::UsualErrors) of a breaker further out
    /// ignores it.
    OwnDeadlineExceeded,
    /// The last try took too long.
    TryTimedOut,
    /// The client failed.
    Failed(E),
}

/// The cause of [`RequestError::OwnDeadlineExceeded`], which code that walks the chain finds whatever `E` is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnDeadline;

impl fmt::Display for OwnDeadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request's own deadline exceeded")
    }
}

impl Error for OwnDeadline {}

impl<E> RequestError<E> {
    pub(crate) fn of(error: ServiceError<Timed<WithCauses<E>>>) -> Self {
        match error {
            ServiceError::Rejected(rejection) => Self::Rejected(rejection),
            ServiceError::Failed(Timed::TimedOut) => Self::TryTimedOut,
            ServiceError::Failed(Timed::Failed(WithCauses(error))) => Self::Failed(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for RequestError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::DeadlineExceeded => f.write_str("deadline exceeded"),
            Self::OwnDeadlineExceeded => OwnDeadline.fmt(f),
            Self::TryTimedOut => f.write_str("timed out"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for RequestError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // `Display` shows it, too; but here code that walks the chain finds it whatever `E` is.
            Self::Rejected(rejection) => Some(rejection),
            Self::OwnDeadlineExceeded => Some(&OwnDeadline),
            Self::DeadlineExceeded | Self::TryTimedOut => None,
            // `Display` shows the client's error itself, so the chain continues below it.
            Self::Failed(error) => error.source(),
        }
    }
}
