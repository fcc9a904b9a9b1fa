// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body that carries the permit of its call to its end.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use atomic_breaker_server::{AnyError, AnyPermit};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::connection::Carrier;
use crate::errors::{ErrorRule, report_by};
use crate::rules::HttpRules;
use crate::{Outcome, Scope};

/// The outcomes for those ends of a body that prove nothing by themselves.
#[derive(Clone, Copy)]
pub(crate) struct BodyEnds {
    /// An end without trailers that say more.
    pub(crate) without: Outcome,
    /// The reader stops between two frames. `None` cancels the permit.
    pub(crate) dropped: Option<Outcome>,
    /// The limit that the request carried covers the body.
    pub(crate) has_own_limit: bool,
    /// The first data is enough for a probe.
    pub(crate) data_suffices: bool,
    /// The connection that it is on.
    pub(crate) carrier: Carrier,
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
    ///   [dropped](atomic_breaker_server::Permit#dropped). It neither helps a server that hangs nor hurts one whose caller went away,
    ///   and a permit that is held for too long counts.
    /// - **Otherwise**, unread or between two frames: the reader did not want more. The [head](crate::Head::Open) decided what
    ///   that counts as.
    ///
    /// `R` are the [rules](HttpRules) of the protocol, and `Y` the [rule](ErrorRule) for errors of the body.
    pub struct ReportingBody<B, P, R, Y = AnyError>
    where
        P: AnyPermit,
    {
        #[pin]
        body: B,
        // `None` once the call is reported.
        open: Option<(P, R, Y)>,
        ends: BodyEnds,
        // The server was asked, and has not responded.
        waiting: bool,
        ended: bool,
    }

    impl<B, P, R, Y> PinnedDrop for ReportingBody<B, P, R, Y>
    where
        P: AnyPermit,
    {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let Some((permit, ..)) = this.open.take() else { return };
            match this.ends.dropped {
                Some(outcome) if !*this.waiting => drop(permit.report(outcome)),
                // Dropping the permit cancels it.
                _ => {}
            }
        }
    }
}

impl<B: Body, P: AnyPermit, R: HttpRules, Y> ReportingBody<B, P, R, Y> {
    /// A body that reports the permit. Reports at once if the body is known to be at its end, such as that of a HEAD request
    /// or a "204 No Content".
    pub(crate) fn new(body: B, permit: P, rules: R, errors: Y, ends: BodyEnds) -> Self {
        let mut open = Some((permit, rules, errors));
        if body.is_end_stream() {
            end(&mut open, None, ends.without);
        }
        let mut this = Self::reported(body);
        (this.open, this.ends) = (open, ends);
        this
    }
}

impl<B, P: AnyPermit, R, Y> ReportingBody<B, P, R, Y> {
    /// A body without a permit: used when the call has already been reported.
    pub const fn reported(body: B) -> Self {
        Self {
            body,
            open: None,
            ends: BodyEnds {
                without: Outcome::Ignored,
                dropped: None,
                has_own_limit: false,
                data_suffices: false,
                carrier: Carrier::UNKNOWN,
            },
            waiting: false,
            ended: false,
        }
    }

    /// Returns whether the call has been reported.
    pub const fn is_reported(&self) -> bool {
        self.open.is_none()
    }

    /// The inner body.
    pub const fn get_ref(&self) -> &B {
        &self.body
    }
}

impl<B, P, R, Y> ReportingBody<B, P, R, Y>
where
    B: Body,
    P: AnyPermit,
    R: HttpRules,
    Y: ErrorRule<B::Error>,
{
    /// Reads on until the call is reported, for a caller that has left. If it is too late, a body that has arrived in part
    /// is as one whose reader does not want more, and another one as if its reader had waited.
    pub(crate) async fn read_on(self, late: impl Future<Output = ()>) {
        let (mut body, mut late) = (pin!(self), pin!(late));
        let mut has_begun = false;
        poll_fn(|context| {
            if body.is_reported() || late.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            match ready!(body.as_mut().poll_frame(context)) {
                Some(Ok(_)) => {
                    has_begun = true;
                    // A frame at a time, so that a fast one leaves room for others.
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                None | Some(Err(_)) => Poll::Ready(()),
            }
        })
        .await;
        if has_begun {
            *body.project().waiting = false;
        }
    }
}

impl<B, P, R, Y> Body for ReportingBody<B, P, R, Y>
where
    B: Body,
    P: AnyPermit,
    R: HttpRules,
    Y: ErrorRule<B::Error>,
{
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
                end(this.open, None, this.ends.without);
            }
            Some(Err(error)) => {
                if let Some((permit, _, errors)) = this.open.take() {
                    let is_callers = this.ends.has_own_limit || !waited;
                    let judge = || match errors.judge(error) {
                        (outcome, Scope::Limit) if is_callers => (outcome, Scope::Caller),
                        judged => this.ends.carrier.refine(judged),
                    };
                    let words = || errors.words(error);
                    let words = || words().unwrap_or_else(|| "the body was cut off".to_owned());
                    report_by(permit, judge, words);
                }
            }
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_ref() {
                    end(this.open, Some(trailers), this.ends.without);
                } else if this.body.is_end_stream() {
                    // Many readers stop here.
                    end(this.open, None, this.ends.without);
                } else if frame.is_data() && this.ends.data_suffices {
                    if let Some((permit, ..)) = this.open.take_if(|(permit, ..)| permit.is_probe())
                    {
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

fn end<P: AnyPermit, R: HttpRules, Y>(
    open: &mut Option<(P, R, Y)>,
    trailers: Option<&HeaderMap>,
    without: Outcome,
) {
    if let Some((permit, rules, _)) = open.take() {
        let judge = || {
            let said = trailers.and_then(|trailers| rules.trailers(trailers));
            said.unwrap_or((without, Scope::Call))
        };
        report_by(permit, judge, || "failed at the end of the body".to_owned());
    }
}

// Layers that respond in place of the service, such as on a timeout, need an empty body.
impl<B: Default, P: AnyPermit, R, Y> Default for ReportingBody<B, P, R, Y> {
    fn default() -> Self {
        Self::reported(B::default())
    }
}

// By hand, since permits and rules need not implement `Debug`.
impl<B: fmt::Debug, P: AnyPermit, R, Y> fmt::Debug for ReportingBody<B, P, R, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportingBody")
            .field("body", &self.body)
            .field("is_reported", &self.is_reported())
            .finish_non_exhaustive()
    }
}
