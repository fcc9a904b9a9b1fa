// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body whose server must not keep its reader waiting.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep};

use crate::body_waker::BodyWaker;
use crate::errors::ErrorRule;
use crate::{Failure, Outcome, Scope};

/// Limits of the time for which the server may keep the reader of a body waiting. None unless set.
///
/// Only the time in which the reader waits for the server counts: a slow reader, or one that pauses, uses up none. A wait
/// begins when the reader asks and there is nothing, and ends when the body wakes it, even if it looks only later. A body
/// that meets a limit ends with [`BodyError::TimedOut`], which is a failure of the host.
///
/// **Set them shorter than your readers wait.** A reader that leaves before a limit is met cancels its call, which says nothing
/// about the host while the call is young, so a host that hangs in its bodies might never trip if all of them leave first.
/// [`ClientGuard`](crate::ClientGuard#bounds) says what a probe counts as whose reader leaves.
///
/// ```
/// use atomic_breaker_http::{BodyLimits, ClientConfig};
/// use std::time::Duration;
///
/// // For a language model: its first token may take long, and the next ones must not.
/// let limits = BodyLimits::new()
///     .first_byte(Duration::from_secs(60))
///     .idle(Duration::from_secs(10))
///     .whole(Duration::from_secs(600));
/// assert!(ClientConfig::new().body_limits(limits).check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct BodyLimits {
    pub(crate) first_byte: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) whole: Option<Duration>,
}

impl BodyLimits {
    /// No limits.
    pub const fn new() -> Self {
        Self {
            first_byte: None,
            idle: None,
            whole: None,
        }
    }

    /// Sets the time after the head that the first data may take, or the end of a body without any: more than 0; as
    /// long as later data unless set.
    pub const fn first_byte(mut self, limit: Duration) -> Self {
        self.first_byte = Some(limit);
        self
    }

    /// Sets the time that the next data may take, or the end: more than 0.
    pub const fn idle(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    /// Sets the time that the whole body may take, all waits together: at least as long as each of the others.
    pub const fn whole(mut self, limit: Duration) -> Self {
        self.whole = Some(limit);
        self
    }

    /// Describes the fault of the limits, if there is one.
    pub(crate) fn error(&self) -> Option<&'static str> {
        let each = [self.first_byte, self.idle, self.whole];
        let longest = self.first_byte.max(self.idle);
        if each.into_iter().flatten().any(|limit| limit.is_zero()) {
            Some(
                "a limit of a body of 0 lets none arrive: lengthen it, or leave it out for no limit",
            )
        } else if self.whole.is_some() && self.whole < longest {
            Some(
                "the limit of a whole body is shorter than that of a part of it: lengthen the former or shorten the latter",
            )
        } else {
            None
        }
    }

    const fn are_set(&self) -> bool {
        self.first_byte.is_some() || self.idle.is_some() || self.whole.is_some()
    }

    /// The limit of the present wait, and which one it is.
    fn next(&self, has_data: bool, waited: Duration) -> Option<(Duration, BodyLimit)> {
        let part = if has_data {
            self.idle.map(|limit| (limit, BodyLimit::Idle(limit)))
        } else {
            let first = self.first_byte.or(self.idle);
            first.map(|limit| (limit, BodyLimit::FirstByte(limit)))
        };
        let whole = self
            .whole
            .map(|limit| (limit.saturating_sub(waited), BodyLimit::Whole(limit)));
        part.into_iter().chain(whole).min_by_key(|(left, _)| *left)
    }
}

/// A limit of a body that was met, and how long it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyLimit {
    /// [`BodyLimits::first_byte`], or `idle` in its place.
    FirstByte(Duration),
    /// [`BodyLimits::idle`].
    Idle(Duration),
    /// [`BodyLimits::whole`].
    Whole(Duration),
}

impl fmt::Display for BodyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstByte(limit) => write!(f, "no data of the body within {limit:?}"),
            Self::Idle(limit) => write!(f, "no further data of the body within {limit:?}"),
            Self::Whole(limit) => write!(f, "the body was not complete within {limit:?}"),
        }
    }
}

/// The reason why the body of a guarded client broke off.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError<E> {
    /// The server kept its reader waiting for too long.
    TimedOut(BodyLimit),
    /// The body of the client failed.
    Failed(E),
}

impl<E: fmt::Display> fmt::Display for BodyError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(limit) => limit.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// The client's error is shown in place of this one, and so are its causes.
impl<E: Error + 'static> Error for BodyError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TimedOut(_) => None,
            Self::Failed(error) => error.source(),
        }
    }
}

/// The rule for the errors of a body: a timeout is a failure, and `X` judges the errors of the client.
#[derive(Clone, Copy, Debug)]
pub struct TimedBodyErrors<X>(pub(crate) X);

impl<E, X: ErrorRule<E>> ErrorRule<BodyError<E>> for TimedBodyErrors<X> {
    fn judge(&self, error: &BodyError<E>) -> (Outcome, Scope) {
        match error {
            BodyError::TimedOut(_) => (Failure::new().into(), Scope::Call),
            BodyError::Failed(error) => self.0.judge(error),
        }
    }

    fn words(&self, error: &BodyError<E>) -> Option<String> {
        match error {
            BodyError::TimedOut(limit) => Some(limit.to_string()),
            BodyError::Failed(error) => self.0.words(error),
        }
    }
}

pin_project! {
    /// A body with [limits](BodyLimits). Without any it is the inner body.
    ///
    /// # Panics
    /// With limits, when its reader waits outside of a tokio runtime with time enabled.
    #[derive(Debug)]
    pub struct TimedBody<B> {
        // `None` once a limit was met: a reader that keeps this does not keep the connection.
        #[pin]
        body: Option<B>,
        // `None` without limits.
        watch: Option<Box<Watch>>,
    }
}

/// The waits of a reader. One begins when the reader asks and nothing is there, and ends when the body wakes it, whenever it
/// looks then: a reader may have other things to do.
#[derive(Debug)]
struct Watch {
    limits: BodyLimits,
    has_data: bool,
    /// All waits before this one.
    waited: Duration,
    wait: Option<HostWait>,
    /// Made when the reader asks for the first time.
    waker: Option<(Arc<BodyWaker>, Waker)>,
}

#[derive(Debug)]
struct HostWait {
    since: Instant,
    limit: BodyLimit,
    sleep: Pin<Box<Sleep>>,
}

impl HostWait {
    /// The body woke its reader then, who looked only now and found nothing: the time between is the reader's.
    fn resume(&mut self, woken: Instant) {
        let away = woken.elapsed();
        self.since += away;
        let ends = self.sleep.deadline() + away;
        self.sleep.as_mut().reset(ends);
    }
}

impl Watch {
    const fn new(limits: BodyLimits) -> Self {
        Self {
            limits,
            has_data: false,
            waited: Duration::ZERO,
            wait: None,
            waker: None,
        }
    }

    /// Polls the body for `context`. `is_data` says whether what has come is data, and not the end or something else.
    /// Returns the limit that was met if nothing has come.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll_body: impl FnOnce(&mut Context<'_>) -> Poll<T>,
        is_data: impl FnOnce(&T) -> bool,
    ) -> Poll<Result<T, BodyLimit>> {
        let (waker, for_body) = self.waker.get_or_insert_with(BodyWaker::new);
        let woken = waker.wake_instead(context.waker());
        if let Poll::Ready(frame) = poll_body(&mut Context::from_waker(for_body)) {
            if let Some(wait) = self.wait.take() {
                let ended = woken.unwrap_or_else(Instant::now);
                self.waited += ended.saturating_duration_since(wait.since);
            }
            self.has_data |= is_data(&frame);
            return Poll::Ready(Ok(frame));
        }
        // A body that woke its reader while it was asked, to be asked again, has still nothing to give.
        waker.forget();
        let wait = if let Some(wait) = &mut self.wait {
            if let Some(woken) = woken {
                wait.resume(woken);
            }
            wait
        } else {
            let Some((left, limit)) = self.limits.next(self.has_data, self.waited) else {
                return Poll::Pending;
            };
            self.wait.insert(HostWait {
                since: Instant::now(),
                limit,
                sleep: Box::pin(sleep(left)),
            })
        };
        let limit = wait.limit;
        wait.sleep.as_mut().poll(context).map(|()| Err(limit))
    }
}

impl<B> TimedBody<B> {
    pub(crate) fn new(body: B, limits: BodyLimits) -> Self {
        Self {
            body: Some(body),
            watch: limits.are_set().then(|| Box::new(Watch::new(limits))),
        }
    }

    /// The inner body; `None` once it met a limit, as it is dropped then, with its connection.
    pub const fn get_ref(&self) -> Option<&B> {
        self.body.as_ref()
    }
}

impl<B: Body> Body for TimedBody<B> {
    type Data = B::Data;
    type Error = BodyError<B::Error>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, Self::Error>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let Some(watch) = this.watch else {
            let frame = body.poll_frame(context);
            return frame.map(|it| it.map(|it| it.map_err(BodyError::Failed)));
        };
        let is_data = |frame: &Option<Result<Frame<_>, _>>| matches!(frame, Some(Ok(frame)) if frame.is_data());
        match ready!(watch.poll(context, |context| body.poll_frame(context), is_data)) {
            Ok(frame) => Poll::Ready(frame.map(|it| it.map_err(BodyError::Failed))),
            Err(limit) => {
                this.body.set(None);
                Poll::Ready(Some(Err(BodyError::TimedOut(limit))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ended = SizeHint::with_exact(0);
        self.body.as_ref().map_or(ended, Body::size_hint)
    }
}

impl<B: Default> Default for TimedBody<B> {
    fn default() -> Self {
        Self::new(B::default(), BodyLimits::new())
    }
}
