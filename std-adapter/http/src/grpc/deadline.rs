// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls whose callers set a time limit of their own: it ends their wait, and not the try.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_layer::Layer;
use tower_service::Service;

use super::code::GRPC_STATUS;

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// `DEADLINE_EXCEEDED`
const EXCEEDED: HeaderValue = HeaderValue::from_static("4");

/// Above a [`TryLayer`](atomic_breaker_tower::TryLayer): honours the time limits that the callers of gRPC set (`grpc-timeout`, tonic's
/// `set_timeout`), as deadlines of the caller and not of the try.
///
/// The server ends a call at the limit that it is told, and so does tonic's `Channel`. So if all callers are less
/// patient than the limit of a try, a server that hangs would never be found, and a healthy one that takes a little
/// longer than they wait would stay shut out: its probes end with their callers. With this layer the server is told the
/// limit of a try in place of a shorter one, and the caller gets `DEADLINE_EXCEEDED` when its own has passed; the try goes
/// on without it, and its result counts. A limit covers the body of the response, too: when it passes, the body ends
/// with that status as its trailers.
///
/// Limits that are longer than that of a try, or invalid, are left as they are. With a limit of 0 no call is made.
///
/// ```
/// use atomic_breaker_http::{GrpcClassifier, GrpcDeadlineLayer, Origin, PerHost, Registry};
/// use atomic_breaker_tower::TryLayer;
/// use std::time::Duration;
/// use tower::ServiceBuilder;
///
/// # fn layers<S>(hosts: &'static Registry<Origin>, channel: S) {
/// let limit = Duration::from_secs(3);
/// let channel = ServiceBuilder::new()
///     .layer(GrpcDeadlineLayer::new(limit))
///     .layer(TryLayer::new(PerHost::new(hosts), limit).report(GrpcClassifier::new().at_end_of_body()))
///     .service(channel);
/// # let _ = channel;
/// # }
/// ```
///
/// # Panics
/// A call with such a limit panics outside of a tokio runtime, or in one without time enabled.
#[derive(Clone, Copy, Debug)]
pub struct GrpcDeadlineLayer {
    try_limit: Duration,
}

impl GrpcDeadlineLayer {
    /// The limit of a try, as it is given to the [`TryLayer`](atomic_breaker_tower::TryLayer) beneath.
    pub const fn new(try_limit: Duration) -> Self {
        Self { try_limit }
    }
}

impl<S> Layer<S> for GrpcDeadlineLayer {
    type Service = GrpcDeadlineService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GrpcDeadlineService {
            inner,
            try_limit: self.try_limit,
        }
    }
}

/// The service of a [`GrpcDeadlineLayer`].
#[derive(Clone, Copy, Debug)]
pub struct GrpcDeadlineService<S> {
    inner: S,
    try_limit: Duration,
}

impl<S, B, R> Service<Request<B>> for GrpcDeadlineService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<GrpcDeadlineBody<R>>;
    type Error = S::Error;
    type Future = GrpcDeadlineFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let own = own_limit(request.headers()).filter(|own| *own < self.try_limit);
        // A limit beyond the range of the clock is none.
        let ends = own.and_then(|own| Instant::now().checked_add(own));
        if own.is_some_and(|own| own.is_zero()) {
            return GrpcDeadlineFuture::new(None, ends);
        }
        if own.is_some() {
            let headers = request.headers_mut();
            match value_of(self.try_limit) {
                Some(value) => headers.insert(GRPC_TIMEOUT, value),
                None => headers.remove(GRPC_TIMEOUT),
            };
        }
        GrpcDeadlineFuture::new(Some(self.inner.call(request)), ends)
    }
}

pin_project! {
    /// The future of a [`GrpcDeadlineService`].
    #[derive(Debug)]
    pub struct GrpcDeadlineFuture<F> {
        // `None` if the limit is 0.
        #[pin]
        call: Option<F>,
        #[pin]
        passes: Option<Sleep>,
        ends: Option<Instant>,
    }
}

impl<F> GrpcDeadlineFuture<F> {
    fn new(call: Option<F>, ends: Option<Instant>) -> Self {
        Self {
            call,
            passes: ends.map(sleep_until),
            ends,
        }
    }
}

impl<F, R, E> Future for GrpcDeadlineFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<GrpcDeadlineBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(call) = this.call.as_mut().as_pin_mut() {
            if let Poll::Ready(result) = call.poll(context) {
                let ends = *this.ends;
                return Poll::Ready(result.map(|response| {
                    response.map(|body| GrpcDeadlineBody {
                        body: Some(body),
                        passes: ends.map(sleep_until),
                    })
                }));
            }
        }
        match this.passes.as_pin_mut() {
            Some(passes) => ready!(passes.poll(context)),
            None => return Poll::Pending,
        }
        // The caller leaves; the try beneath goes on.
        this.call.set(None);
        Poll::Ready(Ok(exceeded()))
    }
}

/// The response of a server whose time is over.
fn exceeded<R>() -> Response<GrpcDeadlineBody<R>> {
    let mut response = Response::new(GrpcDeadlineBody {
        body: None,
        passes: None,
    });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(GRPC_STATUS, EXCEEDED);
    response
}

pin_project! {
    /// The body of a response of a [`GrpcDeadlineService`].
    #[derive(Debug)]
    pub struct GrpcDeadlineBody<R> {
        // `None` after its end: a reader that keeps this keeps neither the stream nor a permit.
        #[pin]
        body: Option<R>,
        #[pin]
        passes: Option<Sleep>,
    }
}

impl<R: Body> Body for GrpcDeadlineBody<R> {
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let passes = this.passes.as_pin_mut();
        // Before the body, as one that always has more must end, too.
        if passes.is_some_and(|passes| passes.poll(context).is_ready()) {
            this.body.set(None);
            let trailers = HeaderMap::from_iter([(GRPC_STATUS, EXCEEDED)]);
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        let frame = ready!(body.poll_frame(context));
        // No second end follows if the limit passes before the next poll.
        if !matches!(&frame, Some(Ok(frame)) if frame.is_data()) {
            this.body.set(None);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ended = SizeHint::with_exact(0);
        self.body.as_ref().map_or(ended, Body::size_hint)
    }
}

/// At most eight digits and a unit; anything else is no limit.
fn own_limit(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(GRPC_TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// The limit as the protocol writes it, rounded up; `None` if it is longer than eight digits can say.
fn value_of(limit: Duration) -> Option<HeaderValue> {
    let ms = limit.as_nanos().div_ceil(1_000_000);
    let (number, unit) = if ms <= LARGEST {
        (ms, 'm')
    } else {
        (limit.as_nanos().div_ceil(1_000_000_000), 'S')
    };
    let text = format!("{number}{unit}");
    HeaderValue::from_str(&text)
        .ok()
        .filter(|_| number <= LARGEST)
}

const LARGEST: u128 = 99_999_999;
