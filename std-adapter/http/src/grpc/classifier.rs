//! What a gRPC response says about its server.

use std::fmt;

use http::{HeaderMap, Response, StatusCode, header::CONTENT_TYPE};
use http_body::Body;

use super::body::GrpcBodyRule;
use super::rules::{CodeRule, UsualCodes};
use crate::body::ReportingBody;
use crate::grpc_code::GrpcCode;
use crate::reason::Reason;
use crate::scope::report_result;
use crate::{
    AnyPermit, ErrorRule, EveryError, Failure, Outcome, PushBack, Report, ResponseHead, RetryAfter,
};

/// Reports gRPC calls according to their `grpc-status`, wherever it arrives: in the headers of a response without a
/// body, otherwise in the trailers at the end of the body, which takes the permit along until then. Needs no tonic, and
/// works beneath it as a layer around its `Channel`.
///
/// | code | counts as |
/// |---|---|
/// | `UNAVAILABLE`, `INTERNAL`, `DATA_LOSS`, `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED` | failure |
/// | `CANCELLED` | ignored |
/// | the other eleven | success: the server has responded |
///
/// | otherwise | counts as |
/// |---|---|
/// | `grpc-status` that is not a valid code | `UNKNOWN` |
/// | body that ends without `grpc-status` | `UNKNOWN` |
/// | HTTP status other than 200 without `grpc-status`, such as from a proxy | what the [table](GrpcCode::from_http) of gRPC says |
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
/// [`UsualErrors`](crate::UsualErrors): `GrpcClassifier::with_rules(UsualCodes, UsualErrors, UsualErrors)`.
///
/// For tonic's own types there is [`code`](Self::code):
///
/// ```
/// use atomic_breaker_http::{Config, Failure, GrpcClassifier, Outcome, breaker};
///
/// // These two have what `tonic::Code` and `tonic::Status` have.
/// # #[derive(Clone, Copy)] enum Code { Unavailable = 14 }
/// # struct Status(Code);
/// # impl Status {
/// #     fn code(&self) -> Code { self.0 }
/// #     fn source(&self) -> Option<&str> { None }
/// #     fn metadata(&self) -> &http::HeaderMap { static MAP: std::sync::LazyLock<http::HeaderMap> = std::sync::LazyLock::new(http::HeaderMap::new); &MAP }
/// # }
/// static GRPC: GrpcClassifier = GrpcClassifier::new();
///
/// fn classify<T>(result: &Result<T, Status>) -> Outcome {
///     match result {
///         Ok(_) => Outcome::Success,
///         // Made here and not by the server; tonic's own timeout comes as `CANCELLED`.
///         Err(status) if status.source().is_some() => Failure::new().into(),
///         // With tonic: `status.metadata().as_ref()`.
///         Err(status) => GRPC.code((status.code() as i32).into(), status.metadata()),
///     }
/// }
///
/// let server = breaker(Config::new());
/// let _ = server.call_with(classify, || Err::<(), _>(Status(Code::Unavailable)));
/// assert_eq!(server.snapshot().failures(), 1);
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct GrpcClassifier<S = UsualCodes, X = EveryError, Y = EveryError> {
    pub(super) codes: S,
    pub(super) errors: X,
    pub(super) body_errors: Y,
    pub(super) hints: RetryAfter,
    pub(super) trip_on_push_back: bool,
}

/// What the head of a response says.
pub(super) enum Head {
    /// The call is over.
    Code(GrpcCode),
    /// The code arrives at the end of the body; if it does not, this counts.
    Later { without: Option<GrpcCode> },
}

impl GrpcClassifier {
    /// The codes and errors above, push-back up to 300 s.
    pub const fn new() -> Self {
        Self::with_rules(UsualCodes, EveryError, EveryError)
    }
}

impl<S, X, Y> GrpcClassifier<S, X, Y> {
    /// What the server says about trying again, in the headers of a response without a body or in the trailers.
    pub fn push_back(&self, metadata: &HeaderMap) -> Option<PushBack> {
        self.hints.push_back(metadata)
    }
}

impl<S: CodeRule, X, Y> GrpcClassifier<S, X, Y> {
    /// What a code with its trailers says: for use without a response, such as with a `tonic::Status`.
    pub fn code(&self, code: GrpcCode, metadata: &HeaderMap) -> Outcome {
        let outcome = self.codes.outcome(code);
        let may_trip = matches!(code, GrpcCode::Unavailable | GrpcCode::ResourceExhausted);
        if !may_trip || !self.trip_on_push_back || !matches!(outcome, Outcome::Failure(_)) {
            return outcome;
        }
        self.push_back(metadata)
            .and_then(PushBack::time)
            .map_or(outcome, |time| Failure::retry_after(time).into())
    }

    /// Why a result is a failure, judged by its head, in a few words for a log; `None` if it is not, or not yet. What
    /// arrives in the trailers is for [`GrpcCode::read`].
    ///
    /// ```
    /// use atomic_breaker_http::GrpcClassifier;
    /// use http::Response;
    /// use std::convert::Infallible;
    ///
    /// let response = Response::builder().header("grpc-status", "14").body(())?;
    /// let result = Ok::<_, Infallible>(response);
    /// let reason = GrpcClassifier::new().reason(&result).map(|reason| reason.to_string());
    /// assert_eq!(reason.as_deref(), Some("grpc UNAVAILABLE"));
    /// # Ok::<(), http::Error>(())
    /// ```
    pub fn reason<'a, T: ResponseHead, E>(&self, result: &'a Result<T, E>) -> Option<Reason<'a, E>>
    where
        X: ErrorRule<E>,
    {
        let failed = matches!(self.at_head_of(result), Some(Outcome::Failure(_)));
        failed.then_some(())?;
        match result {
            Ok(response) => match head(response) {
                Head::Code(code) => Some(Reason::Grpc(code)),
                Head::Later { .. } => None,
            },
            Err(error) => Some(Reason::Error(error)),
        }
    }

    /// The outcome, if the head determines it.
    pub(super) fn at_head_of<T: ResponseHead, E>(&self, result: &Result<T, E>) -> Option<Outcome>
    where
        X: ErrorRule<E>,
    {
        match result {
            Ok(response) => match head(response) {
                Head::Code(code) => Some(self.response(code, response)),
                Head::Later { .. } => None,
            },
            Err(error) => Some(self.errors.outcome(error)),
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

    /// A few words about a result that counted as a failure.
    pub(super) fn why<T: ResponseHead, E: fmt::Display>(&self, result: &Result<T, E>) -> String
    where
        X: ErrorRule<E>,
    {
        self.reason(result)
            .map_or_else(String::new, |reason| reason.to_string())
    }
}

impl<B, E, S, X, Y> Report<Response<B>, E> for GrpcClassifier<S, X, Y>
where
    B: Body,
    E: fmt::Display,
    S: CodeRule + Clone,
    X: ErrorRule<E>,
    Y: ErrorRule<B::Error> + Clone,
{
    type Output<P: AnyPermit> = Response<ReportingBody<B, P, GrpcBodyRule<S, Y>>>;

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        result: Result<Response<B>, E>,
    ) -> Result<Self::Output<P>, E> {
        let Some(Head::Later { without }) = result.as_ref().ok().map(head) else {
            let why = || self.why(&result);
            let outcome = || self.at_head_of(&result).unwrap_or(Outcome::Ignored);
            report_result(permit, &result, &self.errors, outcome, why);
            return result.map(|response| response.map(ReportingBody::reported));
        };
        let classifier = GrpcClassifier {
            codes: self.codes.clone(),
            errors: (),
            body_errors: self.body_errors.clone(),
            hints: self.hints,
            trip_on_push_back: self.trip_on_push_back,
        };
        let rule = GrpcBodyRule::new(classifier, without);
        result.map(|response| response.map(|body| ReportingBody::new(body, permit, rule)))
    }
}

impl Default for GrpcClassifier {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, X, Y> fmt::Debug for GrpcClassifier<S, X, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcClassifier")
            .field("max_push_back", &self.hints.limit())
            .field("trip_on_push_back", &self.trip_on_push_back)
            .finish_non_exhaustive()
    }
}

/// What the head of a response says, by the rules of gRPC.
fn head(response: &impl ResponseHead) -> Head {
    if let Some(code) = GrpcCode::read(response.headers()) {
        return Head::Code(code);
    }
    if response.status() != StatusCode::OK {
        return Head::Code(GrpcCode::from_http(response.status()));
    }
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.map_or(&b""[..], |kind| kind.as_bytes());
    let starts_with = |name: &[u8]| {
        kind.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    if starts_with(b"application/grpc-web") {
        Head::Later { without: None }
    } else if kind.is_empty() || starts_with(b"application/grpc") {
        // Without a content type it may still be gRPC: the end of the body decides.
        Head::Later {
            without: Some(GrpcCode::Unknown),
        }
    } else {
        Head::Code(GrpcCode::Unknown)
    }
}
