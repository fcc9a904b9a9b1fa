// SPDX-License-Identifier: MIT OR Apache-2.0
//! The classifier of errors of hyper-based clients.

use std::error::Error;
use std::io;

use crate::causes::{OwnDeadline, causes_of};
#[cfg(feature = "reqwest")]
use crate::client_error::ClientError;
use crate::connection::Carrier;
use crate::errors::ErrorRule;
use crate::{ConnectionId, Failure, Outcome, Rejection, Scope};

/// A [rule](ErrorRule) for the errors of hyper-based clients: hyper-util, tonic, and `HttpClient` of this crate. It
/// recognizes them alone or as the cause of another error: a dead host counts as failed, and a mistake of the caller is
/// not a failure of the host. The default of `ClientGuard`.
///
/// | error | counts as |
/// |---|---|
/// | no connection, a timeout, a response that is not HTTP, a connection of HTTP/1 that is closed or reset, all others | failure of weight 1 |
/// | an HTTP/2 connection that is lost with several requests on it, or whose keep-alive ping gets no response | failure of weight 1, **once** for all that were on it ([`Scope::Connection`]) |
/// | refused before it was processed: `REFUSED_STREAM`, a `GOAWAY` before this stream, a connection that closed before the request was written | failure of weight 1, **once** for all of its connection that were under way, so that a host that refuses everything opens its breaker ([`Scope::Unprocessed`]); none if it is sent again below the breaker and gets a response, as `ClientGuard` and reqwest do |
/// | hyper-util: a URI that is not absolute, a method or version that cannot be sent, a scheme that its connector does not know | ignored |
/// | hyper: `is_user`, above all the body of the request, when it fails; over HTTP/1 also the resulting error of a response body that has begun | ignored |
/// | a [`Rejection`] of another breaker in the chain of causes | ignored |
/// | [`RequestError::OwnDeadlineExceeded`](crate::RequestError::OwnDeadlineExceeded) of a `ClientGuard` further in, which judges its tries itself | ignored |
/// | a time limit that the request itself carried to this crate's `HttpClient` (`RequestBuilder::timeout`), in layers without a `ClientGuard`, whose tries outlive it | cancelled, as if the caller had left ([`Scope::Caller`]) |
/// | `ClientError` of this crate's `HttpClient` | as `ReqwestErrors` says |
///
/// The connection is known by the addresses of its ends, which the errors of hyper-util, and so of reqwest, carry,
/// unless the connector marks it by `.extra(`[`ConnectionId`]`)`. Where nothing is known, all requests that were under
/// way together may have shared it.
///
/// Its verdict on HTTP/2 needs the feature `http2`, which is on by default. Otherwise the verdict on an error does not
/// depend on which features other crates enable; the errors of reqwest itself are for `ReqwestErrors`.
///
/// ```
/// use atomic_breaker_http::{ErrorRule, Failure, HttpClassifier, UsualErrors};
/// use std::io;
///
/// static HTTP: HttpClassifier<UsualErrors> = HttpClassifier::new().errors(UsualErrors);
/// // First a rule of one's own.
/// let http = HttpClassifier::new().errors(|error: &io::Error| match error.kind() {
///     io::ErrorKind::ConnectionRefused => Failure::with_weight(3).into(),
///     _ => UsualErrors.outcome(error),
/// });
/// # let _ = (&HTTP, http);
/// ```
///
/// A boxed error does not implement `Error`: `.map_err(std::io::Error::other)` turns it into one, and this rule looks
/// inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsualErrors;

impl<E: Error + 'static> ErrorRule<E> for UsualErrors {
    fn judge(&self, error: &E) -> (Outcome, Scope) {
        judgement(error)
    }
}

/// An error of any type.
impl ErrorRule<dyn Error + Send + Sync> for UsualErrors {
    fn judge(&self, error: &(dyn Error + Send + Sync + 'static)) -> (Outcome, Scope) {
        judgement(error)
    }
}

fn judgement(error: &(dyn Error + 'static)) -> (Outcome, Scope) {
    let (verdict, carrier) = verdict(error);
    carrier.refine(verdict.judgement())
}

/// Decides whom an error concerns, whatever a rule makes of it.
pub(crate) fn scope_of(error: &(dyn Error + 'static)) -> Scope {
    judgement(error).1
}

/// The number of times that a request may be sent again at once, within one try: on a fresh connection if the last one
/// ended before a response, and once if it was refused on one that goes on.
pub(crate) struct Again {
    /// The number of connections of a pool that may turn out to be broken.
    connections: u32,
    /// There it may be refused again.
    on_the_same: u32,
}

impl Again {
    pub(crate) const fn new() -> Self {
        Self {
            connections: 8,
            on_the_same: 1,
        }
    }

    /// Returns whether to send it again after this error: it was refused unprocessed, or may be sent twice.
    pub(crate) fn allow(
        &mut self,
        error: &(dyn Error + 'static),
        may_repeat: impl FnOnce() -> bool,
    ) -> bool {
        let left = match verdict(error).0 {
            Verdict::Refused => &mut self.on_the_same,
            Verdict::Unprocessed => &mut self.connections,
            Verdict::Lost { .. } if may_repeat() => &mut self.connections,
            _ => return false,
        };
        let is_left = *left > 0;
        *left = left.saturating_sub(1);
        is_left
    }
}

/// The verdict on an error.
enum Verdict {
    /// The outcome is known already, and whom it concerns.
    Known((Outcome, Scope)),
    /// The connection ended before the response; other calls may have been on it.
    Lost {
        is_shared: bool,
    },
    /// The host did not look at the request, and the connection has ended.
    Unprocessed,
    /// The same, but the connection goes on.
    #[cfg_attr(not(feature = "http2"), allow(dead_code, reason = "of HTTP/2"))]
    Refused,
    /// A time limit that the request carried.
    #[cfg_attr(not(feature = "reqwest"), allow(dead_code, reason = "of reqwest"))]
    OwnLimit,
    /// A time limit of the client.
    #[cfg_attr(not(feature = "reqwest"), allow(dead_code, reason = "of reqwest"))]
    Limit,
    Failed,
}

impl Verdict {
    const IGNORED: Self = Self::Known((Outcome::Ignored, Scope::Call));

    fn judgement(self) -> (Outcome, Scope) {
        let failure = Failure::new().into();
        match self {
            Self::Known(known) => known,
            // Nothing by itself, but a reason to retry; the scope says how often it counts.
            Self::Unprocessed | Self::Refused => {
                let scope = Scope::Unprocessed(ConnectionId::UNKNOWN);
                (Failure::with_weight(0).into(), scope)
            }
            Self::Lost { is_shared: true } => (failure, Scope::Connection(ConnectionId::UNKNOWN)),
            Self::OwnLimit => (failure, Scope::Caller),
            Self::Limit => (failure, Scope::Limit),
            Self::Lost { is_shared: false } | Self::Failed => (failure, Scope::Call),
        }
    }
}

/// The verdict on an error, and the connection that it was on.
fn verdict(error: &(dyn Error + 'static)) -> (Verdict, Carrier) {
    #[cfg_attr(
        not(feature = "http2"),
        expect(unused_mut, reason = "nothing is asked")
    )]
    let mut carrier = Carrier::UNKNOWN;
    if Rejection::in_chain(error).is_some() {
        return (Verdict::IGNORED, carrier);
    }
    for cause in causes_of(error) {
        #[cfg(feature = "http2")]
        if let Some(asked) = Carrier::of_error(cause) {
            carrier = asked;
        }
        if let Some(verdict) = of_cause(cause) {
            return (verdict, carrier);
        }
    }
    (Verdict::Failed, carrier)
}

/// The verdict on a cause, if it is one that ends the search.
fn of_cause(cause: &(dyn Error + 'static)) -> Option<Verdict> {
    if cause.is::<OwnDeadline>() {
        // A rule that makes a failure of it blames the caller.
        return Some(Verdict::Known((Outcome::Ignored, Scope::Caller)));
    }
    #[cfg(feature = "reqwest")]
    if let Some(verdict) = of_reqwest(cause) {
        return Some(verdict);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return Some(of_hyper(error));
    }
    of_hyper_util(cause)
}

/// The verdict on an error of this crate's client. Of reqwest's own errors it tells only those of a time limit apart,
/// which changes no outcome.
#[cfg(feature = "reqwest")]
fn of_reqwest(error: &(dyn Error + 'static)) -> Option<Verdict> {
    let is_limit = |error: &reqwest::Error| error.is_timeout() && !error.is_connect();
    if let Some(error) = error.downcast_ref::<ClientError>() {
        if let Some(known) = error.known() {
            return Some(Verdict::Known(known));
        }
        return match (is_limit(error), error.has_own_limit()) {
            (true, true) => Some(Verdict::OwnLimit),
            (true, false) => Some(Verdict::Limit),
            (false, _) => None,
        };
    }
    let error = error.downcast_ref::<reqwest::Error>()?;
    is_limit(error).then_some(Verdict::Limit)
}

/// Its errors reveal no more than their texts.
fn of_hyper_util(error: &(dyn Error + 'static)) -> Option<Verdict> {
    let text = error.to_string();
    if text.starts_with("client error (User") {
        return Some(Verdict::IGNORED);
    }
    if text != "client error (Connect)" {
        return None;
    }
    let reason = error.source().map(ToString::to_string).unwrap_or_default();
    Some(if reason.starts_with("invalid URL, ") {
        Verdict::IGNORED
    } else {
        // This connection is not shared with another call yet.
        Verdict::Failed
    })
}

fn of_hyper(error: &hyper::Error) -> Verdict {
    let source = error.source();
    if error.is_user() {
        return Verdict::IGNORED;
    }
    #[cfg(feature = "http2")]
    if let Some(error) = source.and_then(|source| source.downcast_ref()) {
        return of_h2(error);
    }
    if error.is_canceled() {
        return Verdict::Unprocessed;
    }
    if error.is_incomplete_message() {
        return Verdict::Lost { is_shared: false };
    }
    if error.is_timeout() {
        // This comes from the pings of HTTP/2: clients have no other timeout.
        return Verdict::Lost { is_shared: true };
    }
    match source {
        Some(source) => match source.downcast_ref::<io::Error>() {
            // h2 hands copies of its error to all streams, and those have no OS error code.
            Some(error) => Verdict::Lost {
                is_shared: error.raw_os_error().is_none(),
            },
            // All that HTTP/1 reports when a request's body failed while the response was arriving.
            None if source.to_string() == "connection error" => Verdict::IGNORED,
            None => Verdict::Failed,
        },
        None => Verdict::Failed,
    }
}

#[cfg(feature = "http2")]
fn of_h2(error: &h2::Error) -> Verdict {
    let by_us = !error.is_remote() && !error.is_library();
    match error.reason() {
        // Streams that we reset are those whose request's body failed.
        _ if error.is_reset() && by_us => Verdict::IGNORED,
        Some(h2::Reason::REFUSED_STREAM) if error.is_reset() && error.is_remote() => {
            Verdict::Refused
        }
        // Only streams after the last one that the host looked at get this error.
        _ if error.is_go_away() && error.is_remote() => Verdict::Unprocessed,
        _ if error.is_go_away() || error.is_io() => Verdict::Lost { is_shared: true },
        _ => Verdict::Failed,
    }
}
