// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies whose readers keep them, or do something else now and then.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use atomic_breaker_http::{BodyError, BodyLimits, ClientConfig, ClientGuard, TokioClock};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, Interval, Sleep, interval, sleep, sleep_until, timeout_at};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// A connection that hands over data as the bodies of hyper do: it wakes its reader when data arrives.
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

/// That body with these limits.
async fn limited<B>(
    limits: BodyLimits,
    body: B,
) -> impl Body<Data = &'static [u8], Error = BodyError<Infallible>> + Unpin
where
    B: Body<Data = &'static [u8], Error = Infallible> + Unpin + Send + 'static,
{
    let config = ClientConfig::new().body_limits(limits);
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let body: &'static _ = Box::leak(Box::new(Mutex::new(Some(body))));
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(async |_: Request<()>| {
            let body = body.lock().unwrap().take().unwrap();
            Ok::<_, Infallible>(Response::new(body))
        }));
    let request = Request::get("http://model.example/").body(()).unwrap();
    client.oneshot(request).await.unwrap().into_body()
}

/// The host's end of a body with these limits, and the reader's.
async fn body(
    limits: BodyLimits,
) -> (
    Sender<&'static [u8]>,
    impl Body<Data = &'static [u8], Error = BodyError<Infallible>> + Unpin,
) {
    let (host, arriving) = channel(64);
    (host, limited(limits, Arriving(arriving)).await)
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
    let limits = BodyLimits::new().idle(5 * SECOND);
    let mut body = limited(limits, Wakes(interval(SECOND / 10))).await;
    let begin = Instant::now();
    assert!(matches!(
        body.frame().await,
        Some(Err(BodyError::TimedOut(_)))
    ));
    assert!(begin.elapsed() <= 5 * SECOND + SECOND / 100);
}

/// After each of these times it wakes its reader, at the second one with data.
struct Twice(Vec<Pin<Box<Sleep>>>);

impl Body for Twice {
    type Data = &'static [u8];
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        while let Some(next) = self.0.first_mut() {
            ready!(next.as_mut().poll(context));
            drop(self.0.remove(0));
            if self.0.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(b"token"))));
            }
        }
        Poll::Pending
    }
}

/// It is woken in vain after one second, and looks after three.
#[tokio::test(start_paused = true)]
async fn what_a_reader_does_after_it_was_woken_in_vain_is_its_own_time() {
    let begin = Instant::now();
    let wakes = [1_000, 4_500].map(|ms| Box::pin(sleep(Duration::from_millis(ms))));
    let limits = BodyLimits::new().whole(6 * SECOND);
    let mut body = limited(limits, Twice(wakes.into())).await;
    assert!(timeout_at(begin + SECOND / 2, body.frame()).await.is_err());
    sleep_until(begin + 3 * SECOND).await;
    assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
    assert_eq!(begin.elapsed().as_millis(), 4_500);
    let end = body.frame().await;
    assert!(matches!(end, Some(Err(BodyError::TimedOut(_)))), "{end:?}");
    let own = 2;
    assert_eq!(begin.elapsed().as_secs(), 6 + own);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_only_asks_to_be_asked_again_keeps_its_reader_waiting() {
    struct Busy;
    impl Body for Busy {
        type Data = &'static [u8];
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }
    let begin = Instant::now();
    let mut body = limited(BodyLimits::new().idle(5 * SECOND), Busy).await;
    while poll_fn(|context| Poll::Ready(Pin::new(&mut body).poll_frame(context).is_pending())).await
    {
        assert!(begin.elapsed() < 10 * SECOND);
        sleep(SECOND).await;
    }
    assert_eq!(begin.elapsed().as_secs(), 5);
}
