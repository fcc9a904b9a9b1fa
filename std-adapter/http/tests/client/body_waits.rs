// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies whose readers keep them, or do something else now and then.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{BodyError, BodyLimits, ClientConfig, ClientGuard, TokioClock};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use tokio::time::{Instant, Interval, interval, sleep, timeout_at};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// What a connection hands over, as the bodies of hyper do: it wakes its reader when data arrives.
struct Arriving(Receiver<&'static [u8]>);

impl Body for Arriving {
    type Data = &'static [u8];
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        let arrived = self.0.poll_recv(context);
        arrived.map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}

/// The host's end of a body with these limits, and the reader's.
async fn body(
    limits: BodyLimits,
) -> (
    Sender<&'static [u8]>,
    impl Body<Data = &'static [u8], Error = BodyError<Infallible>> + Unpin,
) {
    let config = ClientConfig::new().body_limits(limits);
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let (host, arriving) = channel(64);
    let arriving = std::sync::Mutex::new(Some(arriving));
    let arriving: &'static _ = Box::leak(Box::new(arriving));
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(async |_: Request<()>| {
            let arriving = arriving.lock().unwrap().take().unwrap();
            Ok::<_, Infallible>(Response::new(Arriving(arriving)))
        }));
    let request = Request::get("http://model.example/").body(()).unwrap();
    let response = client.oneshot(request).await.unwrap();
    (host, response.into_body())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_met_a_limit_holds_its_connection_no_longer() {
    let (host, mut body) = body(BodyLimits::new().idle(SECOND)).await;
    assert!(!host.is_closed());
    assert!(matches!(
        body.frame().await,
        Some(Err(BodyError::TimedOut(_)))
    ));
    assert!(host.is_closed(), "though its reader keeps it");
    assert!(body.is_end_stream() && body.frame().await.is_none());
}

/// The host sends ten times a second. The reader looks for a second, and then does something else for two.
#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_data_comes_and_not_when_its_reader_is_back() {
    let (host, mut body) = body(BodyLimits::new().whole(60 * SECOND)).await;
    tokio::spawn(async move {
        for _ in 0..1_000 {
            sleep(SECOND / 10).await;
            host.send(b"token").await.unwrap();
        }
    });
    let (mut tokens, mut leaves) = (0, Instant::now() + SECOND * 21 / 20);
    loop {
        match timeout_at(leaves, body.frame()).await {
            Ok(None) => break,
            Ok(Some(frame)) => tokens += u32::from(frame.unwrap().is_data()),
            Err(_) => {
                sleep(2 * SECOND).await;
                leaves = Instant::now() + SECOND * 21 / 20;
            }
        }
    }
    assert_eq!(tokens, 1_000);
}

/// A connection may wake a reader for which it has nothing.
#[tokio::test(start_paused = true)]
async fn a_host_that_wakes_its_reader_in_vain_meets_the_limit() {
    struct Wakes(Interval);
    impl Body for Wakes {
        type Data = &'static [u8];
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
            while self.0.poll_tick(context).is_ready() {}
            Poll::Pending
        }
    }
    let config = ClientConfig::new().body_limits(BodyLimits::new().idle(5 * SECOND));
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(async |_: Request<()>| {
            Ok::<_, Infallible>(Response::new(Wakes(interval(SECOND / 10))))
        }));
    let request = Request::get("http://model.example/").body(()).unwrap();
    let mut body = client.oneshot(request).await.unwrap().into_body();
    let begin = Instant::now();
    assert!(matches!(
        body.frame().await,
        Some(Err(BodyError::TimedOut(_)))
    ));
    assert!(begin.elapsed() <= 5 * SECOND + SECOND / 100);
}
