//! What a gRPC response says about its server.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use http_body::Body;

use super::GrpcAtHead;
use super::head::{Head, head, scope_of_code};
use crate::error_rule::{report_by, why};
use crate::{
    AnyError, AnyPermit, BodyRule, ErrorRule, Failure, GrpcCode, Outcome, Report, ReportingBody,
    ResponseHead, RetryAfter, Scope,
};

/// Reports gRPC calls according to their `grpc-status`, wherever it arrives: in the headers of a response without a
/// body, otherwise in the trailers at the end of the body, which takes the permit along until then. Needs no tonic, and
/// works beneath it as a layer around its `Channel`.
///
/// | code | counts as |
/// |---|---|
/// | `UNAVAILABLE`, `INTERNAL`, `DATA_LOSS`, `UNKNOWN`, `DEADLINE_EXCEEDED` | failure |
/// | `RESOURCE_EXHAUSTED` | with push-back a failure that opens at once; without it neutral, as it concerns [one tenant](Scope::Quota) |
/// | `CANCELLED` | ignored |
/// | the other eleven | success: the server has responded |
///
/// | otherwise | counts as |
/// |---|---|
/// | `grpc-status` that is not a valid code | `UNKNOWN` |
/// | body that ends without `grpc-status` | `UNKNOWN` |
/// | HTTP status other than 200 without `grpc-status`, such as from a proxy | what the [table](GrpcCode::from_http) of gRPC says, except that 429 is `RESOURCE_EXHAUSTED` |
/// | content type other than `application/grpc`, without `grpc-status` | `UNKNOWN`: the response is not from the server but from something in front of it |
/// | `Err`, error of the body | failure, unless [set](Self::errors) [otherwise](Self::body_errors) |
/// | body dropped before its end | cancelled, see [`ReportingBody`]: without a status there is no verdict |
///
/// - A **probe** succeeds with the first data of its body, since streams may be endless.
/// - `grpc-retry-pushback-ms` with `UNAVAILABLE` or `RESOURCE_EXHAUSTED` opens the breaker at once, at least
///   for that time; so does the `Retry-After` of a proxy's 503. See
///   [`trip_on_push_back`](Self::trip_on_push_back).
/// - With [`Config::slow_call`](crate::Config::slow_call) a stream that lives longer counts as slow, since the measured
///   time ends with the body. For streams, use [`at_head`](Self::at_head) or no limit.
/// - For **gRPC-Web**, whose status is within the data of the body, the breaker belongs above the layer that translates
///   it. Below that layer, calls that end without a `grpc-status` are ignored.
///
/// It is a [`Report`] and not a [`Classify`](crate::Classify), as a verdict at the headers would count calls as
/// successes whose failure arrives in the trailers. If a verdict at the headers is what you want,
/// [`at_head`](Self::at_head) is a classifier.
///
/// Errors that end many calls at once, such as those of a connection, count once with the rule
/// [`UsualErrors`](crate::UsualErrors): `GrpcClassifier::new().errors(UsualErrors).body_errors(UsualErrors)`. An error
/// is kept as its text, and that of tonic's `Channel` does not name its cause: put
/// `.map_err(`[`WithCauses`](crate::WithCauses)`)` directly around the `Channel`.
///
/// For tonic's own types there is [`code`](Self::code). A `Status` with a source was made here and not by the server, so
/// it is a failure; tonic's own timeout comes as `CANCELLED`:
/// ```
/// use atomic_breaker_http::{Failure, GrpcClassifier, Outcome};
///
/// static GRPC: GrpcClassifier = GrpcClassifier::new();
///
/// # struct Status { code: i32, source: Option<&'static str>, metadata: http::HeaderMap }
/// // With tonic: `status.code() as i32`, `status.source()`, `status.metadata().as_ref()`.
/// fn classify<T>(result: &Result<T, Status>) -> Outcome {
///     match result {
///         Ok(_) => Outcome::Success,
///         Err(status) if status.source.is_some() => Failure::new().into(),
///         Err(status) => GRPC.code(status.code.into(), &status.metadata),
///     }
/// }
/// # let _ = classify::<()>;
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct GrpcClassifier<X = AnyError, Y = AnyError> {
    codes: fn(GrpcCode) -> Outcome,
    errors: X,
    body_errors: Y,
    hints: RetryAfter,
    trip_on_push_back: bool,
}

impl GrpcClassifier {
    /// The codes and errors above, push-back up to 300 s.
    pub const fn new() -> Self {
        Self {
            codes: GrpcCode::outcome,
            errors: AnyError,
            body_errors: AnyError,
            hints: RetryAfter::new(),
            trip_on_push_back: true,
        }
    }
}

/// The settings.
impl<X, Y> GrpcClassifier<X, Y> {
    /// What each code counts as, its push-back aside.
    ///
    /// ```
    /// use atomic_breaker_http::{Failure, GrpcClassifier, GrpcCode};
    /// use http::HeaderMap;
    ///
    /// static GRPC: GrpcClassifier = GrpcClassifier::new().codes(|code| match code {
    ///     GrpcCode::DataLoss => Failure::tripping().into(),
    ///     other => other.outcome(),
    /// });
    /// assert_eq!(GRPC.code(GrpcCode::DataLoss, &HeaderMap::new()), Failure::tripping().into());
    /// ```
    ///
    /// Where all calls share one quota, `GrpcCode::ResourceExhausted => Failure::new().into()`.
    pub const fn codes(mut self, codes: fn(GrpcCode) -> Outcome) -> Self {
        self.codes = codes;
        self
    }

    /// What the error of a call without a response counts as; a failure of weight 1 unless set. A
    /// [rule](ErrorRule), or a closure, which must name the type of the error.
    pub const fn errors<R>(self, errors: R) -> GrpcClassifier<R, Y>
    where
        X: Copy,
        Y: Copy,
    {
        self.with(errors, self.body_errors)
    }

    /// What an error of the body counts as, like [`errors`](Self::errors).
    pub const fn body_errors<R>(self, errors: R) -> GrpcClassifier<X, R>
    where
        X: Copy,
        Y: Copy,
    {
        self.with(self.errors, errors)
    }

    const fn with<V, W>(&self, errors: V, body_errors: W) -> GrpcClassifier<V, W> {
        GrpcClassifier {
            codes: self.codes,
            errors,
            body_errors,
            hints: self.hints,
            trip_on_push_back: self.trip_on_push_back,
        }
    }

    /// A push-back is honoured up to this time, 300 s unless set; with zero it is ignored. Beyond 5 minutes the breaker
    /// needs a [`Config::max_retry_after`](crate::Config::max_retry_after) as well.
    pub const fn max_push_back(mut self, limit: Duration) -> Self {
        self.hints = RetryAfter::with_limit(limit);
        self
    }

    /// Whether a server's push-back opens the breaker. It does unless this is set to `false`; then such a call counts
    /// like any other of its [code](Self::codes). Turn it off where push-back is for one of several tenants of a server.
    pub const fn trip_on_push_back(mut self, trip: bool) -> Self {
        self.trip_on_push_back = trip;
        self
    }

    /// Reports at the headers: a call whose status arrives later counts as a success. For streams that live longer than
    /// any limit.
    pub const fn at_head(self) -> GrpcAtHead<X, Y> {
        GrpcAtHead(self)
    }
}

/// What results say.
impl<X, Y> GrpcClassifier<X, Y> {
    /// What the server says about a retry, for [`RetryPolicy::hint`](crate::RetryPolicy::hint): how long to wait, or
    /// [`Duration::MAX`] if it asks not to try again ([`RetryAfter::push_back_hint`]).
    pub fn retry_hint(&self, metadata: &HeaderMap) -> Option<Duration> {
        self.hints.push_back_hint(metadata)
    }

    /// What a code with its trailers says: for use without a response, such as with a `tonic::Status`.
    pub fn code(&self, code: GrpcCode, metadata: &HeaderMap) -> Outcome {
        let outcome = (self.codes)(code);
        let may_trip = match code {
            GrpcCode::Unavailable => matches!(outcome, Outcome::Failure(_)),
            GrpcCode::ResourceExhausted => outcome != Outcome::Success,
            _ => false,
        };
        if !may_trip || !self.trip_on_push_back {
            return outcome;
        }
        self.hints
            .push_back(metadata)
            .map_or(outcome, |time| Failure::retry_after(time).into())
    }

    /// Why a result is a failure, judged by its head, in a few words for a log: "grpc UNAVAILABLE", or "transport: " and
    /// the text of the error. `None` if it is not, or not yet. What arrives in the trailers is for [`GrpcCode::read`].
    pub fn reason<T: ResponseHead, E: fmt::Display>(&self, result: &Result<T, E>) -> Option<String>
    where
        X: ErrorRule<E>,
    {
        let (Outcome::Failure(_), _) = self.at_head_of(result)? else {
            return None;
        };
        match result.as_ref().ok().map(head) {
            Some(Head::Code(code)) => Some(format!("grpc {code}")),
            Some(Head::Later { .. }) => None,
            None => Some(why(result)),
        }
    }

    /// What the head says, if it says anything.
    pub(super) fn at_head_of<T, E>(&self, result: &Result<T, E>) -> Option<(Outcome, Scope)>
    where
        T: ResponseHead,
        X: ErrorRule<E>,
    {
        match result {
            Ok(response) => match head(response) {
                Head::Code(code) => {
                    let outcome = self.response(code, response);
                    Some((outcome, scope_of_code(code, outcome)))
                }
                Head::Later { .. } => None,
            },
            Err(error) => Some(self.errors.judge(error)),
        }
    }

    /// What a response that carries its code says. A proxy without gRPC support sends `Retry-After`.
    fn response(&self, code: GrpcCode, response: &impl ResponseHead) -> Outcome {
        let outcome = self.code(code, response.headers());
        let by_proxy = response.status() == StatusCode::SERVICE_UNAVAILABLE
            && GrpcCode::read(response.headers()).is_none();
        match outcome {
            Outcome::Failure(failure)
                if by_proxy && self.trip_on_push_back && !failure.is_tripping() =>
            {
                let hint = self.hints.read(response.headers());
                hint.map_or(outcome, |hint| Failure::retry_after(hint).into())
            }
            _ => outcome,
        }
    }

    /// Reports a result at its head; what its head leaves open counts as `otherwise`.
    pub(super) fn report_head<P: AnyPermit, T: ResponseHead, E: fmt::Display>(
        &self,
        permit: P,
        result: &Result<T, E>,
        otherwise: Outcome,
    ) where
        X: ErrorRule<E>,
    {
        let why = || self.reason(result).unwrap_or_default();
        let judge = || self.at_head_of(result).unwrap_or((otherwise, Scope::Call));
        report_by(permit, judge, why);
    }
}

impl<B, E, X, Y> Report<Response<B>, E> for GrpcClassifier<X, Y>
where
    B: Body,
    E: fmt::Display,
    X: ErrorRule<E>,
    Y: ErrorRule<B::Error> + Clone,
{
    type Output<P: AnyPermit> = Response<ReportingBody<B, P, GrpcBodyRule<Y>>>;

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        result: Result<Response<B>, E>,
    ) -> Result<Self::Output<P>, E> {
        let Some(Head::Later { without }) = result.as_ref().ok().map(head) else {
            self.report_head(permit, &result, Outcome::Ignored);
            return result.map(|response| response.map(ReportingBody::reported));
        };
        let classifier = self.with((), self.body_errors.clone());
        let rule = GrpcBodyRule {
            classifier,
            without,
        };
        result.map(|response| response.map(|body| ReportingBody::new(body, permit, rule)))
    }
}

/// The [rule](BodyRule) of [`GrpcClassifier`].
#[derive(Debug)]
pub struct GrpcBodyRule<Y = AnyError> {
    classifier: GrpcClassifier<(), Y>,
    /// What a body that ends without a code counts as; `None` ignores it.
    without: Option<GrpcCode>,
}

impl<E, Y: ErrorRule<E>> BodyRule<E> for GrpcBodyRule<Y> {
    fn ended(self, trailers: Option<&HeaderMap>) -> (Outcome, Scope) {
        let empty = HeaderMap::new();
        let trailers = trailers.unwrap_or(&empty);
        let code = GrpcCode::read(trailers).or(self.without);
        code.map_or((Outcome::Ignored, Scope::Call), |code| {
            let outcome = self.classifier.code(code, trailers);
            (outcome, scope_of_code(code, outcome))
        })
    }

    fn broken(self, error: &E) -> (Outcome, Scope) {
        self.classifier.body_errors.judge(error)
    }

    fn probe_succeeds_at_data(&self) -> bool {
        true
    }
}

impl Default for GrpcClassifier {
    fn default() -> Self {
        Self::new()
    }
}

impl<X, Y> fmt::Debug for GrpcClassifier<X, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcClassifier")
            .field("max_push_back", &self.hints.limit())
            .field("trip_on_push_back", &self.trip_on_push_back)
            .finish_non_exhaustive()
    }
}
