//! A body that carries the permit of its call to its end.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::error_rule::report_by;
use crate::{AnyPermit, Outcome, Scope};

/// What the end of a body says about the server. For protocols whose body says how the call went.
///
/// [`AtEnd`](super::AtEnd) and [`GrpcClassifier`](super::GrpcClassifier) have their own.
///
/// ```
/// # use atomic_breaker_http::{BodyRule, Config, Failure, Outcome, Permit, ReportingBody, Scope, breaker};
/// # use http::HeaderMap;
/// # use std::sync::Arc;
/// /// A protocol whose last trailer says whether it went well.
/// struct Verdict;
///
/// impl<E> BodyRule<E> for Verdict {
///     fn ended(self, trailers: Option<&HeaderMap>) -> (Outcome, Scope) {
///         let verdict = trailers.and_then(|trailers| trailers.get("verdict"));
///         let outcome = match verdict {
///             Some(verdict) if verdict == "fine" => Outcome::Success,
///             _ => Failure::new().into(),
///         };
///         (outcome, Scope::Call)
///     }
///     fn broken(self, _: &E) -> (Outcome, Scope) {
///         (Failure::new().into(), Scope::Call)
///     }
/// }
///
/// let server = Arc::new(breaker(Config::new()));
/// let permit = Permit::acquire(Arc::clone(&server))?;
/// let body = ReportingBody::new(String::new(), permit, Verdict);
/// assert!(body.is_reported(), "an empty body is at its end");
/// assert_eq!(server.snapshot().failures(), 1);
/// # Ok::<(), atomic_breaker_http::Rejected>(())
/// ```
pub trait BodyRule<E> {
    /// The body came to its end, with or without trailers: what that says, and whom it concerns, as in
    /// [`ErrorRule::judge`](super::ErrorRule::judge).
    fn ended(self, trailers: Option<&HeaderMap>) -> (Outcome, Scope);

    /// The body was cut off: what that says, and whom it concerns.
    fn broken(self, error: &E) -> (Outcome, Scope);

    /// What it counts as if the body is dropped before its end by a reader who is not waiting for the server. `None`
    /// cancels the permit. Asked in advance, when the body is created.
    fn dropped(&self) -> Option<Outcome> {
        None
    }

    /// Whether the first data is enough for a probe to succeed, before the end of the body.
    fn probe_succeeds_at_data(&self) -> bool {
        false
    }
}

pin_project! {
    /// A body that carries the permit of its call, and reports it once: at the end of the body, at its
    /// error, or when it is dropped.
    ///
    /// To its reader it is the inner body, frame by frame. It is not boxed and allocates nothing, and its first `None`
    /// is final: the inner body is not polled again.
    ///
    /// If it is dropped before its end:
    ///
    /// - **While it waits for the server** (the last poll was pending, such as when a timeout or a client's
    ///   disconnection drops the call): the permit is cancelled, like that of a future that is
    ///   [dropped](crate::Permit#dropped). It neither helps a server that hangs nor hurts one whose caller went away,
    ///   and a permit that is held for too long counts.
    /// - **Otherwise**, unread or between two frames: the reader did not want more. The [rule](BodyRule) of the body
    ///   decides.
    pub struct ReportingBody<B, P, R>
    where
        P: AnyPermit,
    {
        #[pin]
        body: B,
        // `None` once the call is reported.
        open: Option<(P, R)>,
        dropped: Option<Outcome>,
        // The server was asked, and has not responded.
        waiting: bool,
        ended: bool,
    }

    impl<B, P, R> PinnedDrop for ReportingBody<B, P, R>
    where
        P: AnyPermit,
    {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let Some((permit, _)) = this.open.take() else { return };
            match this.dropped {
                Some(outcome) if !*this.waiting => drop(permit.report(*outcome)),
                // Dropping the permit cancels it.
                _ => {}
            }
        }
    }
}

impl<B: Body, P: AnyPermit, R: BodyRule<B::Error>> ReportingBody<B, P, R> {
    /// A body that reports the permit according to the rule. Reports at once if the body is known to be at its end,
    /// such as that of a HEAD request or a "204 No Content".
    pub fn new(body: B, permit: P, rule: R) -> Self {
        let dropped = rule.dropped();
        let mut open = Some((permit, rule));
        if body.is_end_stream() {
            end(&mut open, None);
        }
        Self {
            body,
            open,
            dropped,
            waiting: false,
            ended: false,
        }
    }
}

impl<B, P: AnyPermit, R> ReportingBody<B, P, R> {
    /// A body without a permit: used when the call has already been reported.
    pub const fn reported(body: B) -> Self {
        Self {
            body,
            open: None,
            dropped: None,
            waiting: false,
            ended: false,
        }
    }

    /// Whether the call has been reported.
    pub const fn is_reported(&self) -> bool {
        self.open.is_none()
    }

    /// The inner body.
    pub const fn get_ref(&self) -> &B {
        &self.body
    }
}

impl<B: Body, P: AnyPermit, R: BodyRule<B::Error>> Body for ReportingBody<B, P, R> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let waited = *this.waiting;
        // Before the poll, so that a panic in the body cancels the permit.
        *this.waiting = true;
        let frame = ready!(this.body.as_mut().poll_frame(context));
        *this.waiting = false;
        match &frame {
            None => {
                *this.ended = true;
                end(this.open, None);
            }
            Some(Err(error)) => {
                if let Some((permit, rule)) = this.open.take() {
                    let judge = || {
                        let (outcome, scope) = rule.broken(error);
                        (outcome, scope.of_own_limit(!waited))
                    };
                    report_by(permit, judge, || "the body was cut off".to_owned());
                }
            }
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_ref() {
                    end(this.open, Some(trailers));
                } else if this.body.is_end_stream() {
                    // Many readers stop here.
                    end(this.open, None);
                } else if frame.is_data() {
                    let enough = |(permit, rule): &mut (P, R)| {
                        permit.is_probe() && rule.probe_succeeds_at_data()
                    };
                    if let Some((permit, _)) = this.open.take_if(enough) {
                        permit.report(Outcome::Success);
                    }
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.ended {
            SizeHint::with_exact(0)
        } else {
            self.body.size_hint()
        }
    }
}

fn end<P: AnyPermit, R: BodyRule<E>, E>(open: &mut Option<(P, R)>, trailers: Option<&HeaderMap>) {
    if let Some((permit, rule)) = open.take() {
        report_by(
            permit,
            || rule.ended(trailers),
            || "failed at the end of the body".to_owned(),
        );
    }
}

// Layers that respond in place of the service, such as on a timeout, need an empty body.
impl<B: Default, P: AnyPermit, R> Default for ReportingBody<B, P, R> {
    fn default() -> Self {
        Self::reported(B::default())
    }
}

// By hand, since permits and rules need not implement `Debug`.
impl<B: fmt::Debug, P: AnyPermit, R> fmt::Debug for ReportingBody<B, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportingBody")
            .field("body", &self.body)
            .field("is_reported", &self.is_reported())
            .finish_non_exhaustive()
    }
}
