// SPDX-License-Identifier: MIT OR Apache-2.0
//! The body of a request, as far as it keeps the host waiting for the caller.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use reqwest::Request;
use tokio::time::Instant;

/// Knows whether a request waits for more of its body, which its caller supplies: no time of the host's.
#[derive(Clone, Default)]
pub(super) struct Upload(Arc<Mutex<Progress>>);

#[derive(Default)]
struct Progress {
    /// The time that it waited, in the waits that have ended.
    waited: Duration,
    /// The time since which it waits, if it does.
    waits_since: Option<Instant>,
    /// A wait has ended since this was last asked.
    is_resumed: bool,
    /// The waker of the task that makes the call, which is not always the one that sends the body.
    call: Option<Waker>,
    /// The caller left while the call went on.
    is_left: bool,
}

/// The supplier of a body waits for its call, unless this is dropped before [`Caller::stays`].
pub(super) struct Caller(Option<Upload>);

impl Caller {
    pub(super) fn of(upload: Option<&Upload>) -> Self {
        Self(upload.cloned())
    }

    /// The caller waited until the call had ended.
    pub(super) fn stays(mut self) {
        self.0 = None;
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(upload) = &self.0 {
            upload.lock().is_left = true;
        }
    }
}

impl Upload {
    /// Watches the body of a request. `None` if it is in memory, and so never waits.
    pub(super) fn watch(request: &mut Request) -> Option<Self> {
        let body = request
            .body_mut()
            .take_if(|body| body.as_bytes().is_none())?;
        let upload = Self::default();
        *request.body_mut() = Some(reqwest::Body::wrap(Watched {
            body,
            upload: upload.clone(),
        }));
        Some(upload)
    }

    /// The time that the request has waited in all.
    pub(super) fn waited(&self) -> Duration {
        let progress = self.lock();
        let now = progress.waits_since.map(|since| since.elapsed());
        progress.waited + now.unwrap_or_default()
    }

    /// Returns whether it waits now.
    pub(super) fn waits(&self) -> bool {
        self.lock().waits_since.is_some()
    }

    /// Returns whether a wait has ended since the last call; the task is woken when one does.
    pub(super) fn is_resumed(&self, context: &Context<'_>) -> bool {
        let mut progress = self.lock();
        match &mut progress.call {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        std::mem::take(&mut progress.is_resumed)
    }

    fn polled(&self, is_pending: bool) {
        let mut progress = self.lock();
        if is_pending {
            progress.waits_since.get_or_insert_with(Instant::now);
        } else if let Some(since) = progress.waits_since.take() {
            progress.waited += since.elapsed();
            progress.is_resumed = true;
            let waker = progress.call.take();
            drop(progress);
            waker.inspect(Waker::wake_by_ref);
        }
    }

    fn is_left(&self) -> bool {
        self.lock().is_left
    }

    /// Nothing can panic while it is held, so nothing is ever half done.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pin_project! {
    struct Watched {
        #[pin]
        body: reqwest::Body,
        upload: Upload,
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        let frame = this.body.poll_frame(context);
        this.upload.polled(frame.is_pending());
        match frame {
            // A stream that its caller fed, such as that of a channel, ends with its caller, and is not complete.
            Poll::Ready(None) if this.upload.is_left() => {
                let why = "its caller has left before it was complete";
                Poll::Ready(Some(Err(io::Error::other(why).into())))
            }
            frame => frame.map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && !self.upload.is_left()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
