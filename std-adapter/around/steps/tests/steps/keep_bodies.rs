// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies of requests: those that are kept, and those that are sent as they come.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_steps::requests::{KeepBody, KeepConfig, NotKept};
use atomic_breaker_steps::{Lane, MemoryStore, Steps};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::StreamBody;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

use super::keep_server::{Process, Say, Server, kept, now, post};

const SECOND: Duration = Duration::from_secs(1);

type Read = io::Result<Frame<Bytes>>;
type Streamed = StreamBody<stream::Iter<std::vec::IntoIter<Read>>>;

fn streamed(frames: Vec<Read>) -> Request<Streamed> {
    let request = Request::post("/").header("idempotency-key", "k");
    let body = StreamBody::new(stream::iter(frames));
    request.body(body).unwrap()
}

fn data(bytes: &[u8]) -> Frame<Bytes> {
    Frame::data(Bytes::copy_from_slice(bytes))
}

#[tokio::test(start_paused = true)]
async fn a_body_up_to_the_limit_is_kept_a_larger_one_only_sent() {
    let keep = KeepConfig::new().largest_body(1_000);
    for (bytes, is_kept) in [
        (0, true),
        (1, true),
        (1_000, true),
        (1_001, false),
        (50_000, false),
    ] {
        let body: Vec<u8> = (0..=255).cycle().take(bytes).collect();
        for chunk in [7, 1_000, 60_000] {
            let server = Server::new([Say::Status(503)]);
            let process = Process::new(&server, &keep);
            let frames = body.chunks(chunk).map(data).map(Ok).collect();
            let answer = process.send(streamed(frames)).await;
            assert_eq!(server.seen()[0].body, body);
            if is_kept {
                kept(answer);
                let _worker = process.steps.work();
                sleep(SECOND * 5).await;
                assert_eq!(server.seen()[1].body, body);
            } else {
                let response = now(answer);
                let why = response.extensions().get::<NotKept>().unwrap();
                assert!(why.to_string().contains("1000 bytes"), "{why}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_length_says_it_is_too_large_is_not_read_first() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new().largest_body(10));
    process.breaker.trip();
    let error = process
        .send(post("/", "k", "01234567890"))
        .await
        .unwrap_err();
    assert!(
        matches!(error.not_kept(), Some(NotKept::Large(10))),
        "{error}"
    );
}

/// Its first bytes are there, the others never come; how many those are is known once the first have been read.
struct Slow(Option<&'static [u8]>, u64);

impl Body for Slow {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Read>> {
        let first = self.0.take().map(|first| Ok(data(first)));
        first.map_or(Poll::Pending, |first| Poll::Ready(Some(first)))
    }

    fn size_hint(&self) -> SizeHint {
        let rest = SizeHint::with_exact(self.1);
        self.0.map_or(rest, |_| SizeHint::default())
    }
}

/// Answers with how long the body is, without having read it.
async fn measured(request: Request<KeepBody<Slow>>) -> Result<Response<SizeHint>, Infallible> {
    assert!(!request.body().is_end_stream());
    Ok(Response::new(request.body().size_hint()))
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_until_it_is_known_to_be_too_large() {
    let keep = KeepConfig::new().largest_body(10);
    let later = keep.replay::<KeepBody<Slow>, _, _>("later", "server", service_fn(measured));
    let steps = Steps::builder(MemoryStore::new()).lane(Lane::new("server"));
    let steps = steps.workflow(&later).build().unwrap();
    let client = keep.layer(&steps, &later).unwrap();
    let client = client.layer(service_fn(measured));
    for (first, rest) in [(&b"begun"[..], 6), (b"", 11), (b"0123456789", 1)] {
        let request = Request::post("/").header("idempotency-key", "k");
        let request = request.body(Slow(Some(first), rest)).unwrap();
        let sent = timeout(SECOND, client.clone().oneshot(request)).await;
        let hint = now(sent.expect("the rest is not waited for")).into_body();
        assert_eq!(hint.exact(), Some(11));
    }
}

#[test]
fn a_body_made_of_bytes_is_as_long_as_they_are() {
    for bytes in [&b""[..], b"body"] {
        let body = KeepBody::<String>::from(bytes.to_vec());
        assert_eq!(body.size_hint().exact(), Some(bytes.len() as u64));
        assert_eq!(body.is_end_stream(), bytes.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_with_trailers_is_sent_with_them_and_not_kept() {
    let server = Server::new([Say::Status(503)]);
    let process = Process::new(&server, &KeepConfig::new());
    let mut trailers = HeaderMap::new();
    trailers.insert("checksum", 7.into());
    let frames = vec![
        Ok(data(b"be")),
        Ok(data(b"gun")),
        Ok(Frame::trailers(trailers)),
    ];
    let response = now(process.send(streamed(frames)).await);
    assert_eq!(server.seen()[0].body, b"begun");
    assert!(matches!(
        response.extensions().get(),
        Some(NotKept::Trailers)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_breaks_off_below_and_is_not_kept() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    let frames = vec![
        Ok(data(b"be")),
        Err(io::Error::other("the caller has gone")),
    ];
    let error = process.send(streamed(frames)).await.unwrap_err();
    assert!(error.to_string().contains("the caller has gone"), "{error}");
    assert!(matches!(error.not_kept(), Some(NotKept::Broken)));
    assert!(process.jobs().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_while_its_body_is_read_has_sent_nothing() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    let frames = stream::iter([Read::Ok(data(b"be"))]).chain(stream::pending());
    let request = Request::post("/").header("idempotency-key", "k");
    let request = request.body(StreamBody::new(frames)).unwrap();
    assert!(timeout(SECOND, process.send(request)).await.is_err());
    sleep(SECOND).await;
    assert!(server.lines().is_empty() && process.jobs().await.is_empty());
}
