//! What counts as a temporary failure.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_resource::Outcome;
use http::{HeaderMap, Response, StatusCode};

use crate::StepError;
use crate::response::failed;
use atomic_breaker_http::{
    ErrorRule, HttpClassifier, StatusRule, UsualErrors, UsualStatuses, text_of,
};
use atomic_breaker_resource::Rejection;

type AnError = dyn Error + Send + Sync;
type Rule =
    dyn Fn(Result<(StatusCode, &HeaderMap), &AnError>) -> (Outcome, Option<Duration>) + Send + Sync;

/// What a response or error means.
#[derive(Clone)]
pub(super) struct Judge(Arc<Rule>);

/// Why a request is not done.
pub(super) enum Undone {
    /// A breaker rejected it; try again after this time, if it is known.
    Rejected(Option<Duration>),
    /// It may succeed later.
    Failed(StepError),
}

impl Judge {
    pub(super) fn usual() -> Self {
        Self::of(HttpClassifier::with_rules(UsualStatuses, UsualErrors))
    }

    pub(super) fn of<S, X>(http: HttpClassifier<S, X>) -> Self
    where
        S: StatusRule + Send + Sync + 'static,
        X: ErrorRule<AnError> + Send + Sync + 'static,
    {
        Self(Arc::new(move |answer| match answer {
            Ok(head) => (http.response(&head), http.retry_hint(&head)),
            Err(error) => (http.error(error), None),
        }))
    }

    /// A request that is not done, but may be later.
    pub(super) fn undone<B>(&self, answer: &Result<Response<B>, Box<AnError>>) -> Option<Undone> {
        let head = match answer {
            Ok(response) => Ok((response.status(), response.headers())),
            Err(error) => match Rejection::in_chain(&**error) {
                Some(rejection) => return Some(Undone::Rejected(rejection.retry_in())),
                None => Err(&**error),
            },
        };
        let (outcome, hint) = (self.0)(head);
        let words = || match head {
            Ok((status, _)) => status.to_string(),
            // Without the URL, as its query may contain secrets.
            Err(error) => text_of(error),
        };
        failed(outcome, hint, words).map(Undone::Failed)
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}
