// SPDX-License-Identifier: MIT OR Apache-2.0
//! The classifier of gRPC responses.

use std::fmt;
use std::time::Duration;

use atomic_breaker_server::AnyError;
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};

use crate::at_end::AtEnd;
use crate::errors::{ErrorRule, is_quota, of_one_request};
use crate::grpc::GrpcCode;
use crate::head::ResponseHead;
use crate::retry_after::RetryAfter;
use crate::rules::{AtHead, Head, HttpRules};
use crate::{Failure, Outcome, Scope};

/// The [rules](HttpRules) of gRPC: a call counts as its `grpc-status` says, wherever that arrives: in the headers of a
/// response without a body, otherwise in the trailers at the end of the body, which takes the permit along until then. Needs
/// no tonic, and works beneath it as a layer around its `Channel`:
/// `BreakerLayer::new(..).report(GrpcClassifier::new().at_end_of_body())`.
///
/// | code | counts as |
/// |---|---|
/// | `UNAVAILABLE`, `INTERNAL`, `DATA_LOSS`, `DEADLINE_EXCEEDED` | failure |
/// | `UNKNOWN` | failure, as HTTP's 500 is: a server sends it when a handler throws. Where handlers send it for mistakes of their callers, too, [say so](Self::codes) |
/// | `RESOURCE_EXHAUSTED` | neutral, with or without push-back, as it concerns [one tenant](Scope::Quota) |
/// | `CANCELLED` | ignored |
/// | the other eleven | success: the server has responded |
///
/// | otherwise | counts as |
/// |---|---|
/// | `grpc-status` that is not a valid code | `UNKNOWN` |
/// | body that ends without `grpc-status` | failure, whatever `UNKNOWN` counts as: the server has said nothing |
/// | HTTP status other than 200 without `grpc-status`, such as from a proxy | what the [table](GrpcCode::from_http) of gRPC says, except that 429 is `RESOURCE_EXHAUSTED`, that 501, 505, 507 and 511 count [as with HTTP](crate#what-counts-as-what), and that the rest are failures |
/// | content type other than `application/grpc`, without `grpc-status` | failure: the response is not from the server but from something in front of it |
/// | `Err`, error of the body | failure, unless [set](Self::errors) [otherwise](AtEnd::body_errors) |
/// | body dropped before its end | cancelled, see [`ReportingBody`](crate::ReportingBody): without a status there is no verdict |
///
/// - A **probe** succeeds with the first data of a body of unknown length, since streams may be endless.
/// - `grpc-retry-pushback-ms` is for this call ([gRFC A6]): its retry waits, by [`retry_hint`](Self::retry_hint). With
///   `UNAVAILABLE`, which is a failure like others, the breaker opens for at least that time if the rules trip by it, or if
///   it is a probe's; likewise by the `Retry-After` of a proxy's 503. See [`max_push_back`](Self::max_push_back).
/// - With [`Config::slow_call`](crate::Config::slow_call) a stream that lives longer counts as slow, since the measured
///   time ends with the body. For streams, use [`at_head`](Self::at_head) or no limit.
/// - For **gRPC-Web**, whose status is within the data of the body, the breaker belongs above the layer that translates
///   it. Below that layer, calls that end without a `grpc-status` are ignored.
///
/// It is no [`Classify`](atomic_breaker_server::Classify), as a verdict at the headers would count calls as successes whose failure arrives
/// in the trailers. If a verdict at the headers is what you want, [`at_head`](Self::at_head) is a classifier.
///
/// Errors that end many calls at once, such as those of a connection, count once with the rule
/// [`UsualErrors`](crate::UsualErrors): `GrpcClassifier::new().errors(UsualErrors).at_end_of_body().body_errors(UsualErrors)`. An error
/// is kept as its text, and that of tonic's `Channel` does not name its cause: put
/// `.map_err(`[`WithCauses`](crate::WithCauses)`)` directly around the `Channel`.
///
/// With tonic's own types, use [`code`](Self::code). A `Status` with a source was made here and not by the server, so
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
///
/// [gRFC A6]: https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback
#[derive(Clone, Copy)]
#[must_use]
pub struct GrpcClassifier<X = AnyError> {
    codes: fn(GrpcCode) -> Outcome,
    errors: X,
    hints: RetryAfter,
}

impl GrpcClassifier {
    /// The codes and errors above, push-back up to 300 s.
    pub const fn new() -> Self {
        Self {
            codes: GrpcCode::outcome,
            errors: AnyError,
            hints: RetryAfter::new(),
        }
    }
}

/// The settings.
impl<X> GrpcClassifier<X> {
    /// The outcome of each code that a server sends, its push-back aside. A call that ends without a `grpc-status` is a
    /// failure in any case, unless its HTTP status says more.
    ///
    /// Many servers in Go send UNKNOWN for any error of a handler, such as an entity that does not exist. Unless these are
    /// more than half of the calls, or many in a row, the breaker bears that; otherwise count it as a success, which it is
    /// for those: `GrpcCode::Unknown => Outcome::Success`. A server that answers everything by UNKNOWN then keeps its
    /// breaker closed.
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
    /// Where all calls share one quota, `GrpcCode::ResourceExhausted => Failure::tripping().into()` opens at the first,
    /// for as long as its push-back says.
    pub const fn codes(mut self, codes: fn(GrpcCode) -> Outcome) -> Self {
        self.codes = codes;
        self
    }

    /// Sets the outcome of the error of a call without a response; a failure of weight 1 unless set. A
    /// [rule](ErrorRule), or a closure, which must name the type of the error. Errors of bodies have
    /// [their own](AtEnd::body_errors).
    pub const fn errors<Z>(self, errors: Z) -> GrpcClassifier<Z>
    where
        X: Copy,
    {
        GrpcClassifier {
            codes: self.codes,
            errors,
            hints: self.hints,
        }
    }

    /// A push-back is honoured up to this time, 300 s unless set. Beyond 5 minutes the breaker needs a
    /// [`Config::max_retry_after`](crate::Config::max_retry_after) as well.
    ///
    /// With zero it is ignored: the breaker opens for its own time, however long a server asks for.
    pub const fn max_push_back(mut self, limit: Duration) -> Self {
        self.hints = RetryAfter::with_limit(limit);
        self
    }

    /// Reports where the status arrives: at the headers of a response without a body, otherwise at the end of its body.
    pub const fn at_end_of_body(self) -> AtEnd<Self> {
        AtEnd::new(self)
    }

    /// Reports at the headers: a call whose status arrives later counts as a success. For streams that live longer than
    /// any limit.
    pub const fn at_head(self) -> AtHead<Self> {
        AtHead(self)
    }
}

/// Classification of results.
impl<X> GrpcClassifier<X> {
    /// The server's request about a retry, for
    /// [`RetryPolicy::retry_after`](atomic_breaker_tower::RetryPolicy::retry_after): the time to wait, or
    /// [`Duration::MAX`], after which no retry is made, if it asks not to try again ([`RetryAfter::push_back`]).
    pub fn retry_hint(&self, metadata: &HeaderMap) -> Option<Duration> {
        self.hints.push_back_hint(metadata)
    }

    /// Classifies a code with its trailers: for use without a response, such as with a `tonic::Status`.
    pub fn code(&self, code: GrpcCode, metadata: &HeaderMap) -> Outcome {
        let outcome = (self.codes)(code);
        let is_busy = matches!(code, GrpcCode::Unavailable | GrpcCode::ResourceExhausted);
        let asks = is_busy && matches!(outcome, Outcome::Failure(_));
        let time = asks.then(|| self.hints.push_back(metadata)).flatten();
        asking_for(outcome, time)
    }

    /// Classifies a response that carries its code. A proxy without gRPC support sends `Retry-After`.
    fn response(&self, code: GrpcCode, response: &(impl ResponseHead + ?Sized)) -> Outcome {
        let outcome = self.code(code, response.headers());
        let by_proxy = response.status() == StatusCode::SERVICE_UNAVAILABLE
            && GrpcCode::read(response.headers()).is_none();
        let is_pushed_back =
            matches!(outcome, Outcome::Failure(failure) if failure.min_open_time().is_some());
        let hint = (by_proxy && !is_pushed_back).then(|| self.hints.read(response.headers()));
        asking_for(outcome, hint.flatten())
    }
}

impl<X> HttpRules for GrpcClassifier<X> {
    fn head(&self, response: &(impl ResponseHead + ?Sized)) -> Head {
        let without = match said(response) {
            Said::Code(code) => {
                let outcome = self.response(code, response);
                return Head::Over(outcome, scope_of(code, outcome));
            }
            Said::Otherwise(outcome) => return Head::Over(outcome, Scope::Call),
            Said::Later => Failure::new().into(),
            Said::InData => Outcome::Ignored,
        };
        let dropped = None;
        Head::Open { without, dropped }
    }

    fn trailers(&self, trailers: &HeaderMap) -> Option<(Outcome, Scope)> {
        let code = GrpcCode::read(trailers)?;
        let outcome = self.code(code, trailers);
        Some((outcome, scope_of(code, outcome)))
    }

    fn words(&self, response: &(impl ResponseHead + ?Sized)) -> String {
        match said(response) {
            Said::Code(code) => format!("grpc {code}"),
            Said::Otherwise(_) => format!("grpc {}", GrpcCode::Unknown),
            Said::Later | Said::InData => String::new(),
        }
    }
}

impl<E: ?Sized, X: ErrorRule<E>> ErrorRule<E> for GrpcClassifier<X> {
    fn judge(&self, error: &E) -> (Outcome, Scope) {
        self.errors.judge(error)
    }
}

/// A failure that asks for this time.
fn asking_for(outcome: Outcome, time: Option<Duration>) -> Outcome {
    match (outcome, time) {
        (Outcome::Failure(failure), Some(time)) => failure.asking_for(time).into(),
        _ => outcome,
    }
}

/// The state of a call after the head of its response, by the rules of gRPC.
enum Said {
    /// The call is over.
    Code(GrpcCode),
    /// The same, without a code, which gRPC calls UNKNOWN: the server itself has not said so.
    Otherwise(Outcome),
    /// The code arrives at the end of the body.
    Later,
    /// In the data of the body, as gRPC-Web has it.
    InData,
}

fn said(response: &(impl ResponseHead + ?Sized)) -> Said {
    if let Some(code) = GrpcCode::read(response.headers()) {
        return Said::Code(code);
    }
    if is_quota(response.status()) {
        return Said::Code(GrpcCode::ResourceExhausted);
    }
    let no_answer = Said::Otherwise(Failure::new().into());
    if response.status() != StatusCode::OK {
        return match GrpcCode::from_http(response.status()) {
            GrpcCode::Unknown => {
                of_one_request(response.status()).map_or(no_answer, Said::Otherwise)
            }
            code => Said::Code(code),
        };
    }
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.map_or(&b""[..], |kind| kind.as_bytes());
    let starts_with = |name: &[u8]| {
        kind.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    if starts_with(b"application/grpc-web") {
        Said::InData
    } else if kind.is_empty() || starts_with(b"application/grpc") {
        // Without a content type it may still be gRPC: the end of the body decides.
        Said::Later
    } else {
        no_answer
    }
}

/// Decides whom a call that ended with this code concerns.
fn scope_of(code: GrpcCode, outcome: Outcome) -> Scope {
    if code == GrpcCode::ResourceExhausted && outcome == Outcome::Ignored {
        Scope::Quota
    } else {
        Scope::Call
    }
}

impl Default for GrpcClassifier {
    fn default() -> Self {
        Self::new()
    }
}

impl<X> fmt::Debug for GrpcClassifier<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcClassifier")
            .field("max_push_back", &self.hints.limit())
            .finish_non_exhaustive()
    }
}
