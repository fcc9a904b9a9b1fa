// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of a protocol for its responses, and reports at their heads.

use std::fmt;

use atomic_breaker_server::{AnyPermit, Classify, Report};
use atomic_breaker_tower::ReadOn;
use http::HeaderMap;

use crate::errors::{ErrorRule, report_by, status_text};
use crate::head::ResponseHead;
use crate::{Outcome, Scope};

/// The rules that classify a protocol's responses: at the head, and at the end of the body. [`HttpClassifier`] and
/// [`GrpcClassifier`] know theirs; [`AtHead`] and [`AtEnd`](crate::AtEnd) report by any. They also need an
/// [`ErrorRule`], for calls that get no response.
///
/// For a protocol of your own, implement both:
///
/// ```
/// use atomic_breaker_http::{AtEnd, ErrorRule, Failure, Head, HttpRules, Outcome, ResponseHead, Scope};
/// use http::HeaderMap;
///
/// /// A protocol whose last trailer says whether it went well.
/// #[derive(Clone, Copy)]
/// struct Fine;
///
/// impl HttpRules for Fine {
///     fn head(&self, _: &(impl ResponseHead + ?Sized)) -> Head {
///         Head::Open { without: Failure::new().into(), dropped: None }
///     }
///     fn trailers(&self, trailers: &HeaderMap) -> Option<(Outcome, Scope)> {
///         let is_fine = trailers.get("verdict").is_some_and(|verdict| verdict == "fine");
///         is_fine.then_some((Outcome::Success, Scope::Call))
///     }
/// }
///
/// impl<E> ErrorRule<E> for Fine {
///     fn judge(&self, _: &E) -> (Outcome, Scope) {
///         (Failure::new().into(), Scope::Call)
///     }
/// }
///
/// const FINE: AtEnd<Fine> = AtEnd::new(Fine);
/// # let _ = FINE;
/// ```
///
/// [`HttpClassifier`]: crate::HttpClassifier
/// [`GrpcClassifier`]: crate::GrpcClassifier
pub trait HttpRules {
    /// Classifies the head of a response.
    fn head(&self, response: &(impl ResponseHead + ?Sized)) -> Head;

    /// Classifies the trailers of a body, after a head that left it [open](Head::Open), and decides whom they concern.
    /// `None`, the default, if they prove nothing.
    fn trailers(&self, trailers: &HeaderMap) -> Option<(Outcome, Scope)> {
        let _ = trailers;
        None
    }

    /// A few words about a response whose head says that it failed: "503 Service Unavailable".
    fn words(&self, response: &(impl ResponseHead + ?Sized)) -> String {
        status_text(response.status())
    }

    /// The reason why a result is a failure, judged by its head, in a few words for a log: "502 Bad Gateway", "grpc
    /// UNAVAILABLE", or "transport: " and the text of the error, which may contain what a server sent, and secrets from
    /// a URL. `None` if it is not a failure, or not yet.
    fn reason<T: ResponseHead, E: fmt::Display>(&self, result: &Result<T, E>) -> Option<String>
    where
        Self: ErrorRule<E> + Sized,
    {
        let (outcome, _) = at_head(self, result);
        matches!(outcome, Outcome::Failure(_)).then(|| why(self, result))
    }
}

/// The outcome of a response's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The call is over: what that says, and whom it concerns.
    Over(Outcome, Scope),
    /// The end of the body decides. A report at the head counts it as a success.
    Open {
        /// The outcome if the body ends without trailers that [decide](HttpRules::trailers) it.
        without: Outcome,
        /// The outcome if the body is dropped before its end by a reader who is not waiting for the server. `None`
        /// cancels the permit.
        dropped: Option<Outcome>,
    },
}

/// Classifies a result at its head.
pub(crate) fn at_head<R, T, E>(rules: &R, result: &Result<T, E>) -> (Outcome, Scope)
where
    R: HttpRules + ErrorRule<E>,
    T: ResponseHead,
{
    match result {
        Ok(response) => match rules.head(response) {
            Head::Over(outcome, scope) => (outcome, scope),
            Head::Open { .. } => (Outcome::Success, Scope::Call),
        },
        Err(error) => rules.judge(error),
    }
}

/// A few words about a result that counted as a failure.
fn why<T: ResponseHead, E: fmt::Display>(rules: &impl HttpRules, result: &Result<T, E>) -> String {
    match result {
        Ok(response) => rules.words(response),
        Err(error) => format!("transport: {error}"),
    }
}

/// Reports a call by what its head says.
pub(crate) fn report_head<R, T, E>(rules: &R, permit: impl AnyPermit, result: &Result<T, E>)
where
    R: HttpRules + ErrorRule<E>,
    T: ResponseHead,
    E: fmt::Display,
{
    report_by(permit, || at_head(rules, result), || why(rules, result));
}

/// Reports at the head, by any [rules](HttpRules): a call whose verdict would arrive with its body counts as a success. For
/// streams that live longer than any limit.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct AtHead<R>(pub R);

impl<T: ResponseHead, E, R: HttpRules + ErrorRule<E>> Classify<T, E> for AtHead<R> {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        at_head(&self.0, result).0
    }
}

impl<T, E, R> Report<T, E> for AtHead<R>
where
    T: ResponseHead,
    E: fmt::Display,
    R: HttpRules + ErrorRule<E>,
{
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        report_head(&self.0, permit, &result);
        result
    }
}

impl<T, E, R> ReadOn<T, E> for AtHead<R> where Self: Report<T, E> {}
