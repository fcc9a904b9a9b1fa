// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of an HTTP response for the step that requested it.

use std::sync::Arc;

use atomic_breaker_http::{ErrorRule, HttpClassifier, ResponseHead, text_of};
use atomic_breaker_server::{Outcome, Rejection, Scope};
use http::{HeaderMap, Response, StatusCode};

use crate::error::{BoxError, Kind, StepError};

/// Translates a response into the result of the step that requested it, as a [`StepError`] if it is not `Ok`. With the
/// feature `http`.
///
/// | the response | the step |
/// |---|---|
/// | 2xx, "303 See Other" | `Ok` |
/// | 503 with `Retry-After` | [`StepError::retry_after`]: once the rules of its lane's breaker trip, it opens for at least that time |
/// | 429 | one try; due again by the schedule, not before its `Retry-After`. The breaker of its lane [counts nothing](atomic_breaker_http::Scope::Quota), and a probe succeeds: others may have a larger quota |
/// | any other failure by this classifier, such as 500, 502, 504, 408 | one try; due again by the schedule |
/// | 507, 511, which time may change | one try; due again by the schedule. The breaker of its lane [counts what it is](atomic_breaker_http#what-counts-as-what) |
/// | the rest, 501 and 505 among them | [`StepError::end`]: the server would say the same again |
///
/// # Errors
/// The table says which; the text of the error is the status.
///
/// ```
/// use atomic_breaker_http::HttpClassifier;
/// use atomic_breaker_steps::{StepError, Workflow, step_result};
/// use http::Response;
///
/// static HTTP: HttpClassifier = HttpClassifier::new();
///
/// # async fn post(mail: &str) -> std::io::Result<Response<String>> { Ok(Response::new(mail.into())) }
/// async fn send(mail: String) -> Result<String, StepError> {
///     let response = post(&mail).await?;
///     step_result(&HTTP, &response)?;
///     Ok(mail)
/// }
/// let workflow = Workflow::new("mail").step("send", "mail server", send);
/// # let _ = workflow;
///
/// let response = Response::builder().status(422).body("no such address")?;
/// let error = step_result(&HTTP, &response).unwrap_err();
/// assert_eq!(error.to_string(), "422 Unprocessable Entity");
/// # Ok::<(), http::Error>(())
/// ```
pub fn step_result<X>(
    classifier: &HttpClassifier<X>,
    response: &(impl ResponseHead + ?Sized),
) -> Result<(), StepError> {
    let status = response.status();
    let words = status.to_string();
    let hint = classifier.retry_hint(response);
    let outcome = classifier.response(response);
    Err(match outcome {
        Outcome::Failure(failure) => {
            let not_before = failure.min_open_time().or(hint);
            let judged = (failure.into(), Scope::Call);
            StepError::new(Kind::Failed(not_before), words).judged(judged)
        }
        // Of no concern to the breaker, but the job may be done later.
        Outcome::Ignored if status == StatusCode::TOO_MANY_REQUESTS => {
            StepError::over_quota(hint.unwrap_or_default(), words)
        }
        // Nor these two: there is no room for it now, or a network wants a login first.
        _ if status == StatusCode::INSUFFICIENT_STORAGE
            || status == StatusCode::NETWORK_AUTHENTICATION_REQUIRED =>
        {
            StepError::new(Kind::Failed(None), words).judged((outcome, Scope::Call))
        }
        _ if status.is_success() || status == StatusCode::SEE_OTHER => return Ok(()),
        _ => StepError::end(words),
    })
}

/// The meaning of an error without a response for the step. The text is without the URL, as its query may contain
/// secrets.
fn of_error(error: &AnError, judged: (Outcome, Scope)) -> StepError {
    let kind = match (Rejection::in_chain(error), judged) {
        (Some(rejection), _) => Kind::Rejected(rejection.rejected),
        (None, (Outcome::Failure(failure), _)) => Kind::Failed(failure.min_open_time()),
        // A client that turns a 429 into an error.
        (None, (Outcome::Ignored, Scope::Quota)) => Kind::Failed(None),
        (None, _) => Kind::Final,
    };
    let step = StepError::new(kind, text_of(error));
    match kind {
        Kind::Failed(_) => step.judged(judged),
        _ => step,
    }
}

type AnError = dyn std::error::Error + Send + Sync;
type Rule =
    dyn Fn(Result<(StatusCode, &HeaderMap), &AnError>) -> Result<(), StepError> + Send + Sync;

/// A classifier with its type erased.
#[derive(Clone)]
pub(super) struct Judge(Arc<Rule>);

impl Judge {
    pub(super) fn new<X>(http: HttpClassifier<X>) -> Self
    where
        X: ErrorRule<AnError> + Send + Sync + 'static,
    {
        Self(Arc::new(move |answer| match answer {
            Ok(head) => step_result(&http, &head),
            Err(error) => Err(of_error(error, http.judge(error))),
        }))
    }

    /// The result of a step that got this answer.
    pub(super) fn result<B>(
        &self,
        answer: &Result<Response<B>, BoxError>,
    ) -> Result<(), StepError> {
        let answer = answer.as_ref();
        (self.0)(match answer {
            Ok(response) => Ok((response.status(), response.headers())),
            Err(error) => Err(&**error),
        })
    }
}
