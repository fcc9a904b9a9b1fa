//! What an HTTP response means for the step that requested it.

use std::time::Duration;

use atomic_breaker_http::{HttpClassifier, ResponseHead, StatusRule};
use atomic_breaker_resource::Outcome;
use http::StatusCode;

use crate::StepError;

/// Translates a response into the result of the step that requested it, as a [`StepError`] if it is not `Ok`. With the
/// feature `http`.
///
/// | the response | the step |
/// |---|---|
/// | 2xx, "303 See Other" | `Ok` |
/// | 503 with `Retry-After` | [`StepError::retry_after`]: the breaker of its lane opens for that time, too |
/// | 429 with `Retry-After` | [`StepError::not_before`]: for this job alone |
/// | any other failure by this classifier, such as 5xx, 408 | one try; due again by the schedule |
/// | any other | [`StepError::end`]: the server would say the same again |
///
/// # Errors
/// As in the table; the text of the error is the status.
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
pub fn step_result<S: StatusRule, X>(
    classifier: &HttpClassifier<S, X>,
    response: &(impl ResponseHead + ?Sized),
) -> Result<(), StepError> {
    let status = response.status();
    let (outcome, hint) = (
        classifier.response(response),
        classifier.retry_hint(response),
    );
    match failed(outcome, hint, || status.to_string()) {
        Some(error) => Err(error),
        None => ended(status),
    }
}

/// For a response that is tried again: why, and when.
pub(super) fn failed(
    outcome: Outcome,
    hint: Option<Duration>,
    words: impl FnOnce() -> String,
) -> Option<StepError> {
    let Outcome::Failure(failure) = outcome else {
        return None;
    };
    let words = words();
    Some(match (failure.min_open_time(), hint) {
        (Some(time), _) => StepError::retry_after(time, words),
        (None, Some(time)) => StepError::not_before(time, words),
        (None, None) => words.into(),
    })
}

/// A response that is not tried again: the step is done, or never will be.
pub(super) fn ended(status: StatusCode) -> Result<(), StepError> {
    if status.is_success() || status == StatusCode::SEE_OTHER {
        Ok(())
    } else {
        Err(StepError::end(status.to_string()))
    }
}
