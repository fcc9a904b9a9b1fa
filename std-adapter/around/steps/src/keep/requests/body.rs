// SPDX-License-Identifier: MIT OR Apache-2.0
//! The body of a request, read as far as it may be kept.

#[cfg(feature = "reqwest")]
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::NotKept;

/// The body that a service below a [`KeepLayer`](super::KeepLayer) gets: either read entirely, or the beginning that
/// was read followed by the rest as it arrives. Made from bytes for a replay.
#[derive(Clone)]
pub struct KeepBody<B: Body> {
    read: Bytes,
    /// The trailers or the error that came then.
    then: Option<Result<HeaderMap, B::Error>>,
    rest: Option<B>,
}

impl<B: Body> KeepBody<B> {
    /// A body that was read entirely.
    pub(super) const fn whole(read: Bytes) -> Self {
        Self {
            read,
            then: None,
            rest: None,
        }
    }

    /// A body that was not read.
    pub(super) fn unread(body: B) -> Self {
        Self {
            rest: Some(body),
            ..Self::whole(Bytes::new())
        }
    }
}

impl<B: Body + Unpin> KeepBody<B> {
    /// Reads at most this many bytes: returns the entire body, or why it cannot be kept and what is to be sent all the
    /// same.
    pub(super) async fn read(mut body: B, most: usize) -> Result<Bytes, (NotKept, Self)> {
        let mut read = BytesMut::new();
        let (why, then) = loop {
            let left = (most - read.len()) as u64;
            if body.size_hint().lower() > left {
                break (NotKept::Large(most), None);
            }
            match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
                None => return Ok(read.freeze()),
                Some(Err(error)) => break (NotKept::Broken, Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(mut data) => {
                        read.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                        if read.len() > most {
                            break (NotKept::Large(most), None);
                        }
                    }
                    Err(frame) => break (NotKept::Trailers, frame.into_trailers().ok().map(Ok)),
                },
            }
        };
        let read = read.freeze();
        let rest = (!matches!(then, Some(Err(_)))).then_some(body);
        Err((why, Self { read, then, rest }))
    }
}

impl<B: Body> From<Vec<u8>> for KeepBody<B> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::whole(bytes.into())
    }
}

/// For `HttpClient`.
#[cfg(feature = "reqwest")]
impl<B> From<KeepBody<B>> for reqwest::Body
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>> + Send + Sync>,
    B: Unpin + Send + Sync + 'static,
{
    fn from(body: KeepBody<B>) -> Self {
        match body.rest {
            // This can be sent again, for example by redirects.
            None if body.then.is_none() => body.read.into(),
            _ => Self::wrap(body),
        }
    }
}

// Only the rest is pinned.
impl<B: Body + Unpin> Unpin for KeepBody<B> {}

impl<B: Body + Unpin> Body for KeepBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if !this.read.is_empty() {
            let read = std::mem::take(&mut this.read);
            return Poll::Ready(Some(Ok(Frame::data(read))));
        }
        if let Some(then) = this.then.take() {
            return Poll::Ready(Some(then.map(Frame::trailers)));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(rest).poll_frame(context);
        let copied =
            |frame: Frame<B::Data>| frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
        frame.map(|frame| frame.map(|frame| frame.map(copied)))
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty()
            && self.then.is_none()
            && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let read = self.read.len() as u64;
        let Some(rest) = &self.rest else {
            return SizeHint::with_exact(read);
        };
        let after = rest.size_hint();
        let mut hint = SizeHint::new();
        // The upper one first, as it must not be below the other.
        if let Some(upper) = after.upper().and_then(|upper| upper.checked_add(read)) {
            hint.set_upper(upper);
        }
        hint.set_lower(after.lower().saturating_add(read));
        hint
    }
}

impl<B: Body> fmt::Debug for KeepBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepBody")
            .field("read_bytes", &self.read.len())
            .field("is_whole", &self.rest.is_none())
            .finish_non_exhaustive()
    }
}
