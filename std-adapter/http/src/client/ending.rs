// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a try: its report, the outcome of its error, and the result for its caller.

use std::error::Error;
use std::fmt;
use std::future::ready;
use std::pin::Pin;

use atomic_breaker_server::{AnyPermit, Report};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body;
use tokio::time::Sleep;

use super::config::BodyRules;
use crate::at_end::{AtEnd, WholeResponse};
use crate::body::ReportingBody;
use crate::causes::WithCauses;
use crate::classifier::HttpClassifier;
use crate::errors::ErrorRule;
use crate::head::ResponseHead;
use crate::rules::report_head;
use crate::timed_body::{BodyLimits, TimedBody, TimedBodyErrors};
use crate::usual_errors::{UsualErrors, scope_of};
use crate::{Failure, Outcome, Scope, Timed};

/// Reports a try at the head of its response, or at the end of its body.
#[derive(Clone)]
pub(crate) struct AtEitherEnd<X> {
    pub(crate) http: HttpClassifier<X>,
    /// `None` reports at the head.
    pub(crate) at_end: Option<BodyRules>,
}

impl<T, E, X> Report<T, E> for AtEitherEnd<X>
where
    T: ClientResponse,
    E: fmt::Display,
    X: ErrorRule<E>,
{
    type Output<P: AnyPermit> = Responded<T, P>;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Responded<T, P>, E> {
        match (result, self.at_end) {
            (Ok(response), Some(rules)) => {
                let errors = TimedBodyErrors(UsualErrors);
                let mut at_end = AtEnd::new(self.http.of_responses()).body_errors(errors);
                at_end.probes_wait = rules.probes_wait;
                let response = response.into_http();
                let response = response.map(|body| TimedBody::new(body, rules.limits));
                Ok(Responded::AtBody(at_end.respond(permit, response)))
            }
            (result, _) => {
                report_head(&self.http, permit, &result);
                result.map(Responded::AtHead)
            }
        }
    }
}

/// A response whose try was reported at its head, or will be when its body ends.
#[expect(missing_debug_implementations, reason = "callers never see one")]
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved once, and a box would allocate for each response"
)]
pub enum Responded<T: WholeResponse, P: AnyPermit> {
    AtHead(T),
    AtBody(Response<GuardedBody<T::Body, P>>),
}

/// Goes on to the verdict on a try whose caller has left, until it is too late.
pub(crate) fn read_on<T: ClientResponse + 'static, P: AnyPermit + Send + 'static, E>(
    ended: Result<Responded<T, P>, E>,
    late: Sleep,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    match ended {
        Ok(Responded::AtBody(response)) => Box::pin(response.into_body().read_on(late)),
        _ => Box::pin(ready(())),
    }
}

/// The body of a response of a guarded client. `P` is the permit of its try.
pub(super) type GuardedBody<B, P> =
    ReportingBody<TimedBody<B>, P, HttpClassifier, TimedBodyErrors<UsualErrors>>;

impl<T: WholeResponse, P: AnyPermit> ResponseHead for Responded<T, P> {
    fn status(&self) -> StatusCode {
        match self {
            Self::AtHead(response) => response.status(),
            Self::AtBody(response) => response.status(),
        }
    }

    fn headers(&self) -> &HeaderMap {
        match self {
            Self::AtHead(response) => response.headers(),
            Self::AtBody(response) => response.headers(),
        }
    }
}

/// A response of the client within a [`ClientLayer`](crate::ClientLayer): an [`http::Response`] or, with the feature `reqwest`,
/// a `reqwest::Response`. The error of its body must be an [`Error`]; a boxed one becomes one with
/// `.map_err(std::io::Error::other)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be a response that can be reported at the end of its body",
    note = "the client must return `http::Response<B>`, and the error of the body `B` must implement `std::error::Error`"
)]
pub trait ClientResponse: WholeResponse<Body: Body<Error: Error + 'static> + Send> {
    /// The response as the caller gets it. `P` is the permit of a try that is reported at the end of the body.
    type Guarded<P: AnyPermit + Send + Sync + 'static>;

    #[doc(hidden)]
    fn guarded<P: AnyPermit + Send + Sync + 'static>(ended: Responded<Self, P>)
    -> Self::Guarded<P>;
}

impl<B: Body<Error: Error + 'static> + Send> ClientResponse for Response<B> {
    type Guarded<P: AnyPermit + Send + Sync + 'static> = Response<GuardedBody<B, P>>;

    fn guarded<P: AnyPermit + Send + Sync + 'static>(
        ended: Responded<Self, P>,
    ) -> Self::Guarded<P> {
        match ended {
            Responded::AtHead(response) => response
                .map(|body| ReportingBody::reported(TimedBody::new(body, BodyLimits::new()))),
            Responded::AtBody(response) => response,
        }
    }
}

/// The rule for the errors of a try: its timeout is a failure, and `X` judges the errors of the client. A try that ends
/// refused unprocessed was already sent again on fresh connections, or no token was left for that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried<X>(pub(crate) X);

impl<E: Error + 'static, X: ErrorRule<E>> ErrorRule<WithCauses<E>> for Tried<X> {
    fn judge(&self, WithCauses(error): &WithCauses<E>) -> (Outcome, Scope) {
        // The scope is the same for every rule: how many calls an error ended is a fact.
        (self.0.outcome(error), scope_of(error))
    }
}

impl<E: Error + 'static, X: ErrorRule<E>> ErrorRule<Timed<WithCauses<E>>> for Tried<X> {
    fn judge(&self, error: &Timed<WithCauses<E>>) -> (Outcome, Scope) {
        match error {
            Timed::TimedOut => (Failure::new().into(), Scope::Call),
            Timed::Failed(error) => self.judge(error),
        }
    }
}
