//! HTTP, reported at the end of the body.

use std::fmt;

use http::{HeaderMap, Response};
use http_body::Body;

use crate::error_rule::{report_by, scope_of_status, status_text};
use crate::{
    AnyError, AnyPermit, BodyRule, Classify, ErrorRule, Outcome, Report, ReportingBody, Scope,
};

/// If the head of the response says success, waits for the end of the body, so that a truncated body counts as a
/// failure. If the classifier calls the head a failure or ignores it, that is reported at once.
///
/// | the body | counts as |
/// |---|---|
/// | comes to its end, or is empty | success |
/// | is truncated: an error, or fewer bytes than its `Content-Length` | failure, unless [set otherwise](Self::body_errors) |
/// | is dropped unread, or between two frames | success, as the head said |
/// | is dropped while it waits for the server | cancelled, see [`ReportingBody`] |
/// | meets a time limit of the client ([`Scope::Limit`]) while its reader is slow, or one that its request carried | cancelled |
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
/// Created by [`HttpClassifier::at_end_of_body`](super::HttpClassifier::at_end_of_body), or around your own classifier,
/// which is a closure or one within [`AtOnce`](crate::AtOnce). It is a [`Report`] and not a [`Classify`]: it goes where
/// the response is handed out with another body, and not into [`call_with`](atomic_breaker::Breaker::call_with), which
/// would report at the head. [`AnyPermit::run_async`] accepts it.
/// A `reqwest::Response` becomes an `http::Response`, and `into_reqwest` turns it back.
#[derive(Clone, Copy)]
#[must_use]
pub struct AtEnd<C, Y = AnyError> {
    pub(crate) head: C,
    pub(crate) body_errors: Y,
    pub(crate) probes_wait: bool,
}

impl<C> AtEnd<C> {
    /// Waits for the end of the body where `head` says success.
    pub const fn new(head: C) -> Self {
        Self {
            head,
            body_errors: AnyError,
            probes_wait: false,
        }
    }
}

impl<C, Y> AtEnd<C, Y> {
    /// What an error of the body counts as; a failure of weight 1 unless set. A closure, which must name the type of the
    /// error, or a [rule](ErrorRule): [`UsualErrors`](crate::UsualErrors) for the bodies of hyper, `ReqwestErrors` for
    /// those of reqwest. `ClientGuard` and `BreakerMiddleware` use these.
    pub const fn body_errors<R>(self, rule: R) -> AtEnd<C, R>
    where
        C: Copy,
        Y: Copy,
    {
        AtEnd {
            head: self.head,
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

    /// The classifier of the head, for instance for its [`retry_hint`](super::HttpClassifier::retry_hint).
    pub const fn head(&self) -> &C {
        &self.head
    }
}

impl<B, E, C, Y> Report<Response<B>, E> for AtEnd<C, Y>
where
    B: Body,
    E: fmt::Display,
    C: Classify<Response<B>, E> + Report<Response<B>, E>,
    Y: ErrorRule<B::Error> + Clone,
{
    type Output<P: AnyPermit> = Response<ReportingBody<B, P, HttpBodyRule<Y>>>;

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        result: Result<Response<B>, E>,
    ) -> Result<Self::Output<P>, E> {
        let (permit, outcome) = permit.judged(|| self.head.classify(&result));
        match result {
            Ok(response) if outcome == Outcome::Success => {
                let has_own_limit = response.extensions().get::<OwnLimit>().is_some();
                Ok(response.map(|body| {
                    let rule = HttpBodyRule {
                        errors: self.body_errors.clone(),
                        has_own_limit,
                        data_suffices: !self.probes_wait && body.size_hint().upper().is_none(),
                    };
                    ReportingBody::new(body, permit, rule)
                }))
            }
            Ok(response) => {
                let status = response.status();
                let judgement = (outcome, scope_of_status(status, outcome));
                report_by(permit, || judgement, || status_text(status));
                Ok(response.map(ReportingBody::reported))
            }
            Err(error) => match self.head.report(permit, Err(error)) {
                Err(error) => Err(error),
                Ok(_) => unreachable!("a report turned an error into a response"),
            },
        }
    }
}

impl<C: fmt::Debug, Y> fmt::Debug for AtEnd<C, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtEnd")
            .field("head", &self.head)
            .field("probes_wait", &self.probes_wait)
            .finish_non_exhaustive()
    }
}

/// The [rule](BodyRule) of [`AtEnd`].
#[derive(Debug)]
pub struct HttpBodyRule<Y = AnyError> {
    errors: Y,
    has_own_limit: bool,
    data_suffices: bool,
}

/// An extension of a response whose request has a time limit of its own, which covers the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnLimit;

impl<E, Y: ErrorRule<E>> BodyRule<E> for HttpBodyRule<Y> {
    fn ended(self, _: Option<&HeaderMap>) -> (Outcome, Scope) {
        (Outcome::Success, Scope::Call)
    }

    fn broken(self, error: &E) -> (Outcome, Scope) {
        let (outcome, scope) = self.errors.judge(error);
        (outcome, scope.of_own_limit(self.has_own_limit))
    }

    fn dropped(&self) -> Option<Outcome> {
        Some(Outcome::Success)
    }

    fn probe_succeeds_at_data(&self) -> bool {
        self.data_suffices
    }
}
