// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transitions as they happen: server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, sleep_until};

use super::response::{Problem, response};
use super::{Admin, Timeline};

/// After this time a stream ends and the page requests the next: so it is authenticated again, a server that shuts down
/// waits no longer, and a reader that is stuck holds no place.
const STREAM: Duration = Duration::from_secs(20);
/// A beat is sent this often, so that both ends notice when the other is gone.
const BEAT: Duration = Duration::from_secs(5);
/// The number of pieces that may wait for a slow reader.
const WAITING: usize = 1;
/// The time after which to retry if the server has no room for another stream.
const RETRY_SECONDS: u16 = 5;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The stream, if there is a place for it.
pub(super) fn stream(admin: &Admin, request: &Parts) -> Result<Response, Problem> {
    let mut response = response(StatusCode::OK, "text/event-stream", Body::empty());
    // A proxy that buffers would hold back live events.
    let headers = response.headers_mut();
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    if request.method == Method::HEAD {
        return Ok(response);
    }
    let Ok(place) = Arc::clone(&admin.streams).try_acquire_owned() else {
        let error = "as many pages are live as Admin::streams allows: close some, or raise it; meanwhile read the \
                     status every few seconds";
        return Err(Problem::unavailable(error).retry_after(RETRY_SECONDS));
    };
    let (pieces, mut of_stream) = mpsc::channel(WAITING);
    let timeline = admin.timeline.clone();
    let newest = *timeline.watch().borrow();
    let from = request.headers.get(LAST_EVENT_ID);
    let from = from.and_then(|id| id.to_str().ok());
    // One of another process is greater than any number: all is to be read again.
    let next = from.map_or(newest, |id| {
        next_after(id, timeline.run()).unwrap_or(u64::MAX)
    });
    tokio::spawn(write(timeline, next, pieces, place));
    let pieces = stream::poll_fn(move |context| {
        let piece = of_stream.poll_recv(context);
        piece.map(|piece| piece.map(Ok::<_, Infallible>))
    });
    *response.body_mut() = Body::from_stream(pieces);
    Ok(response)
}

/// The number after that of an event, if it is one of this process.
fn next_after(id: &str, run: u32) -> Option<u64> {
    let (of, number) = id.split_once('-')?;
    if u32::from_str_radix(of, 16) != Ok(run) {
        return None;
    }
    number.parse::<u64>().ok()?.checked_add(1)
}

/// Writes one stream, in a task of its own, so that it also ends for a reader that takes nothing.
async fn write(
    timeline: Timeline,
    mut next: u64,
    pieces: mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let mut news = timeline.watch();
    let end = Instant::now() + STREAM;
    let mut beat = Instant::now();
    loop {
        news.mark_unchanged();
        let piece = piece(&timeline, &mut next, beat <= Instant::now());
        if !piece.is_empty() {
            beat = Instant::now() + BEAT;
            tokio::select! {
                sent = pieces.send(piece.into()) => if sent.is_err() { return },
                () = sleep_until(end) => return,
            }
        }
        tokio::select! {
            changed = news.changed() => if changed.is_err() { return },
            () = sleep_until(beat) => {},
            () = sleep_until(end) => return,
            () = pieces.closed() => return,
        }
    }
}

/// The next piece to send.
fn piece(timeline: &Timeline, next: &mut u64, is_beat: bool) -> String {
    let run = timeline.run();
    let part = |number: u64, event: &str, data: &str| {
        format!("id: {run:08x}-{number}\nevent: {event}\ndata: {data}\n\n")
    };
    let Some(events) = timeline.since(*next) else {
        // Reading everything again is cheaper than sending it all.
        *next = *timeline.watch().borrow();
        return part(*next - 1, "reload", "{}");
    };
    if events.is_empty() && is_beat {
        return format!("retry: 200\n{}", part(*next - 1, "beat", "{}"));
    }
    *next = events.last().map_or(*next, |event| event.number + 1);
    let parts = events.iter().map(|event| {
        // JSON has line breaks only between its parts, and this has none there.
        let data = serde_json::to_string(&**event).unwrap_or_default();
        part(event.number, "happened", &data)
    });
    parts.collect()
}
