// SPDX-License-Identifier: MIT OR Apache-2.0
//! The party that is charged for the time while a streamed body of a request is sent, in virtual time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use atomic_breaker_http::{Breaker, BreakerMiddleware, Bytes, Config, State, TokioClock};
use http::Extensions;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, Middleware, Next, Result};
use tokio::time::{Instant, Sleep, sleep};

use super::middleware::through;
use super::server::reqwest;

const LIMIT: Duration = ms(500);
const ONCE: Config = Config::new().consecutive_failures(1);
/// Longer than any limit.
const HOUR: Duration = Duration::from_secs(3_600);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A body whose parts keep their reader waiting, each for that long.
struct Parts {
    left: VecDeque<Duration>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Parts {
    fn after<const N: usize>(pauses: [Duration; N]) -> reqwest::Body {
        reqwest::Body::wrap(Self {
            left: pauses.into(),
            pause: None,
        })
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        let Some(&next) = self.left.front() else {
            return Poll::Ready(None);
        };
        let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(next)));
        ready!(pause.as_mut().poll(context));
        (self.pause, _) = (None, self.left.pop_front());
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

#[derive(Clone, Copy)]
enum Act {
    /// A part of the body.
    Reads,
    Takes(Duration),
    /// The rest of the body is read in a task of its own.
    ReadsOn,
    /// The status of its answer, 200 unless it has said another one.
    Says(u16),
}

use Act::{Reads, ReadsOn, Says, Takes};

/// A host that does this, and then answers.
struct Host {
    acts: Vec<Act>,
    is_complete: Arc<Mutex<Option<bool>>>,
}

impl Middleware for Host {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        mut request: Request,
        _: &'b mut Extensions,
        _: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let mut body = request.body_mut().take();
            let mut answer = http::Response::new("");
            for act in &self.acts {
                match act {
                    Reads => assert!(body.as_mut().unwrap().frame().await.unwrap().is_ok()),
                    Takes(time) => sleep(*time).await,
                    Says(status) => *answer.status_mut() = (*status).try_into().unwrap(),
                    ReadsOn => {
                        let (body, is_complete) = (body.take().unwrap(), self.is_complete.clone());
                        tokio::spawn(async move {
                            let all = body.collect().await;
                            *is_complete.lock().unwrap() = Some(all.is_ok());
                        });
                    }
                }
            }
            Ok(answer.into())
        })
    }
}

/// The end of a call: its time, its error, the state of the breaker, and whether the rest of the body came to its end.
#[derive(Debug, PartialEq)]
struct Ended {
    after: Duration,
    error: Option<String>,
    state: State,
    is_complete: Option<bool>,
}

async fn post<const N: usize>(rules: Config, acts: &[Act], pauses: [Duration; N]) -> Ended {
    let breaker: &'static _ = Box::leak(Box::new(Breaker::new(rules, TokioClock)));
    let is_complete = Arc::default();
    let host = Host {
        acts: acts.to_vec(),
        is_complete: Arc::clone(&is_complete),
    };
    let below = ClientBuilder::new(reqwest()).with(host).build();
    let client = through(BreakerMiddleware::new(breaker, below).time_limit(LIMIT));
    let begun = Instant::now();
    let request = client.post("http://a.example/").body(Parts::after(pauses));
    let result = request.send().await;
    let after = begun.elapsed();
    sleep(LIMIT).await;
    Ended {
        after,
        error: result.err().map(|it| it.source().unwrap().to_string()),
        state: breaker.state(),
        is_complete: *is_complete.lock().unwrap(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what is compared is an option")]
fn not_complete() -> Option<String> {
    Some("request not complete within 500ms".to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "what is compared is an option")]
fn no_response() -> Option<String> {
    Some("no response within 500ms".to_owned())
}

/// It would not be complete soon.
#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_caller_ends_with_the_limit() {
    let of_caller = Ended {
        after: LIMIT,
        error: not_complete(),
        state: State::Closed,
        is_complete: None,
    };
    assert_eq!(post(ONCE, &[Reads], [HOUR]).await, of_caller);
    let acts = &[Reads, Takes(ms(100)), Reads];
    assert_eq!(post(ONCE, acts, [ms(200), HOUR]).await, of_caller);
    let acts = &[Reads, Reads];
    assert_eq!(post(ONCE, acts, [ms(300), HOUR]).await, of_caller);
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_longer_by_what_the_caller_took_and_once() {
    let hangs = Ended {
        after: LIMIT + ms(200),
        error: no_response(),
        state: State::Open,
        is_complete: None,
    };
    assert_eq!(post(ONCE, &[Reads, Takes(HOUR)], [ms(200)]).await, hangs);
    // At 600 ms it waits again, for 50 ms.
    let acts = &[Reads, Takes(ms(400)), Reads, Takes(HOUR)];
    let waits_again = Ended {
        error: not_complete(),
        state: State::Closed,
        ..hangs
    };
    assert_eq!(post(ONCE, acts, [ms(200), ms(50)]).await, waits_again);
}

#[tokio::test(start_paused = true)]
async fn slow_is_what_the_host_takes_once_it_has_the_request() {
    let rules = ONCE.slow_call(ms(300));
    for (uploads, takes, state) in [
        (ms(50), &[Reads, Takes(ms(400))], State::Open),
        (ms(250), &[Reads, Takes(ms(200))], State::Closed),
    ] {
        let answered = Ended {
            after: ms(450),
            error: None,
            state,
            is_complete: None,
        };
        assert_eq!(post(rules, takes, [uploads]).await, answered);
    }
}

/// The host ran out of time for a request that was not there yet; another failure is its own.
#[tokio::test(start_paused = true)]
async fn a_408_alone_is_the_callers_if_its_upload_took_half_of_the_time() {
    for (status, upload, state) in [
        (408, ms(200), State::Closed),
        (408, ms(199), State::Open),
        (503, ms(399), State::Open),
    ] {
        let answered = Ended {
            after: ms(400),
            error: None,
            state,
            is_complete: None,
        };
        let acts = &[Reads, Takes(ms(400).saturating_sub(upload)), Says(status)];
        assert_eq!(post(ONCE, acts, [upload]).await, answered, "{status}");
    }
}

/// As between two ends that talk at the same time.
#[tokio::test(start_paused = true)]
async fn a_body_goes_on_to_its_end_after_an_early_answer() {
    let answered = Ended {
        after: ms(100),
        error: None,
        state: State::Closed,
        is_complete: Some(true),
    };
    let pauses = [ms(100), ms(100), ms(100)];
    assert_eq!(post(ONCE, &[Reads, ReadsOn], pauses).await, answered);
}
