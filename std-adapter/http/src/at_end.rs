// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports at the end of the body.

use std::fmt;

use atomic_breaker_server::{AnyError, AnyPermit, Report};
use atomic_breaker_tower::ReadOn;
use http::Response;
use http_body::Body;

use crate::body::{BodyEnds, ReportingBody};
use crate::connection::Carrier;
use crate::errors::{ErrorRule, report_by};
use crate::head::ResponseHead;
use crate::rules::{Head, HttpRules, report_head};

/// Waits for the end of the body, so that a truncated one counts as a failure, and trailers count. If the head already says
/// that the call failed, or is ignored, that is reported at once. For HTTP:
///
/// | the body | counts as |
/// |---|---|
/// | comes to its end, or is empty | success |
/// | is truncated: an error, or fewer bytes than its `Content-Length` | failure, unless [set otherwise](Self::body_errors) |
/// | is dropped unread, or between two frames | success, as the head said |
/// | is dropped while it waits for the server | cancelled, see [`ReportingBody`] |
/// | meets a time limit of the client ([`Scope::Limit`](crate::Scope::Limit)) while its reader is slow, or one that its request carried | cancelled |
///
/// A body of unknown length may be endless, so its first data is enough for a **probe** to succeed;
/// otherwise a stream of events would keep its slot, and the breaker half-open.
/// [`probes_at_end`](Self::probes_at_end) makes probes wait.
///
/// A probe whose body takes longer than [`Config::probe_lease`](crate::Config::probe_lease) makes room for another one,
/// like every long call.
///
/// With [`Config::slow_call`](crate::Config::slow_call), the measured time ends with the body, and a slow *reader*
/// makes a slow body. For large downloads and streams use [`HttpClassifier`](super::HttpClassifier) alone, or no limit.
/// A truncated body that ends with its connection (HTTP/1.0) cannot be told from a complete one.
///
/// Created by [`HttpClassifier::at_end_of_body`](super::HttpClassifier::at_end_of_body) and
/// [`GrpcClassifier::at_end_of_body`](super::GrpcClassifier::at_end_of_body), or around [rules](HttpRules) of your own. It is
/// a [`Report`] and not a [`Classify`](atomic_breaker_server::Classify): it goes where the response is handed out with another body, and not
/// into [`call_with`](atomic_breaker::Breaker::call_with), which would report at the head.
/// [`AnyPermit::run_async`] accepts it. A `reqwest::Response` becomes an `http::Response`; `HttpClient` says
/// how to turn it back.
#[derive(Clone, Copy)]
#[must_use]
pub struct AtEnd<R, Y = AnyError> {
    rules: R,
    body_errors: Y,
    pub(crate) probes_wait: bool,
}

impl<R> AtEnd<R> {
    /// Waits for the end of the body where the head leaves it open what the call counts as.
    pub const fn new(rules: R) -> Self {
        Self {
            rules,
            body_errors: AnyError,
            probes_wait: false,
        }
    }
}

impl<R, Y> AtEnd<R, Y> {
    /// Sets the outcome of a body's errors; a failure of weight 1 unless set. A closure, which must name the type of
    /// the error, or a [rule](ErrorRule): [`UsualErrors`](crate::UsualErrors) for the bodies of hyper, `ReqwestErrors`
    /// for those of reqwest. `ClientGuard` and `BreakerMiddleware` use these.
    pub const fn body_errors<Z>(self, rule: Z) -> AtEnd<R, Z>
    where
        R: Copy,
        Y: Copy,
    {
        AtEnd {
            rules: self.rules,
            body_errors: rule,
            probes_wait: self.probes_wait,
        }
    }

    /// Makes probes wait for the end of a body of unknown length, too. For servers whose bodies are short and break
    /// off: their breaker then stays open until a whole body has arrived.
    pub const fn probes_at_end(mut self) -> Self {
        self.probes_wait = true;
        self
    }

    /// The rules, for instance for their [`retry_hint`](super::HttpClassifier::retry_hint).
    pub const fn rules(&self) -> &R {
        &self.rules
    }

    /// A response with its permit, if the head leaves it open what the call counts as; otherwise that is reported.
    pub(crate) fn respond<T, P>(&self, permit: P, response: T) -> Reported<T, P, R, Y>
    where
        T: WholeResponse,
        P: AnyPermit,
        R: HttpRules + Clone,
        Y: ErrorRule<<T::Body as Body>::Error> + Clone,
    {
        let (permit, head) = permit.judged(|| self.rules.head(&response));
        match head {
            Head::Open { without, dropped } => {
                let response = response.into_http();
                let has_own_limit = response.extensions().get::<OwnLimit>().is_some();
                let carrier = Carrier::of_response(&response);
                response.map(|body| {
                    let ends = BodyEnds {
                        without,
                        dropped,
                        has_own_limit,
                        // A body of unknown length may be endless.
                        data_suffices: !self.probes_wait && body.size_hint().upper().is_none(),
                        carrier,
                    };
                    let (rules, errors) = (self.rules.clone(), self.body_errors.clone());
                    ReportingBody::new(body, permit, rules, errors, ends)
                })
            }
            Head::Over(outcome, scope) => {
                let words = || self.rules.words(&response);
                report_by(permit, || (outcome, scope), words);
                response.into_http().map(ReportingBody::reported)
            }
        }
    }
}

type Reported<T, P, R, Y> = Response<ReportingBody<<T as WholeResponse>::Body, P, R, Y>>;

/// A response whose body can be handed out with the permit of its call: an [`http::Response`] and, with the feature
/// `reqwest`, a `reqwest::Response`.
pub trait WholeResponse: ResponseHead + Sized {
    /// The body.
    type Body: Body;

    /// The response as one of the crate `http`.
    fn into_http(self) -> Response<Self::Body>;
}

impl<B: Body> WholeResponse for Response<B> {
    type Body = B;

    fn into_http(self) -> Self {
        self
    }
}

impl<T, E, R, Y> Report<T, E> for AtEnd<R, Y>
where
    T: WholeResponse,
    E: fmt::Display,
    R: HttpRules + ErrorRule<E> + Clone,
    Y: ErrorRule<<T::Body as Body>::Error> + Clone,
{
    type Output<P: AnyPermit> = Reported<T, P, R, Y>;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E> {
        match result {
            Ok(response) => Ok(self.respond(permit, response)),
            Err(error) => {
                let result = Err::<T, E>(error);
                report_head(&self.rules, permit, &result);
                result.map(|_| unreachable!("an error"))
            }
        }
    }
}

/// Reads the body to its verdict.
impl<T, E, R, Y> ReadOn<T, E> for AtEnd<R, Y>
where
    T: WholeResponse<Body: Send + 'static>,
    E: fmt::Display,
    R: HttpRules + ErrorRule<E> + Clone + Send + 'static,
    Y: ErrorRule<<T::Body as Body>::Error> + Clone + Send + 'static,
{
    fn read_on<P: AnyPermit + Send + 'static>(
        response: Self::Output<P>,
        late: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        response.into_body().read_on(late)
    }
}

impl<R: fmt::Debug, Y> fmt::Debug for AtEnd<R, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtEnd")
            .field("rules", &self.rules)
            .field("probes_wait", &self.probes_wait)
            .finish_non_exhaustive()
    }
}

/// An extension of a response whose request has a time limit of its own, which covers the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnLimit;
