// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guarded clients whose callers leave before the response, set their own deadlines, and read streams.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use atomic_breaker_http::{
    BodyError, ClientConfig, ClientGuard, Deadline, RequestError, TokioClock,
};
use http::{Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use super::SECOND;
use test_support::week::{Host, protects, week};

type Part = io::Result<Frame<&'static [u8]>>;

/// A body of unknown length: five chunks, a tenth of a second apart, and then the host's own result.
struct Stream {
    left: u32,
    next: Pin<Box<dyn Future<Output = Part> + Send>>,
    host: Host,
}

impl Stream {
    fn of(host: Host) -> Self {
        Self {
            left: 5,
            next: Self::next(&host, 5),
            host,
        }
    }

    fn next(host: &Host, left: u32) -> Pin<Box<dyn Future<Output = Part> + Send>> {
        let host = host.clone();
        Box::pin(async move {
            sleep(SECOND / 10).await;
            if left == 0 {
                host.answer().await?;
            }
            Ok(Frame::data(&b"part"[..]))
        })
    }
}

impl Body for Stream {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Part>> {
        if self.left == u32::MAX {
            return Poll::Ready(None);
        }
        let part = self.next.as_mut().poll(context);
        if part.is_ready() {
            self.left = self.left.wrapping_sub(1);
            self.next = Self::next(&self.host, self.left);
        }
        part.map(Some)
    }
}

fn client(
    config: ClientConfig,
    host: Host,
) -> impl Service<
    Request<()>,
    Response = Response<impl Body<Data = &'static [u8], Error = BodyError<io::Error>> + Send>,
    Error = RequestError<io::Error>,
> + Clone {
    let guard: &'static ClientGuard<TokioClock> =
        ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    guard.layer().layer(service_fn(move |_: Request<()>| {
        let host = host.clone();
        async move {
            host.answer().await?;
            Ok(Response::new(Stream::of(host)))
        }
    }))
}

/// Each request differs: its caller leaves at once or in the middle, sets a deadline, forbids sending it twice, or
/// reads it to the end.
async fn week_of(host: Host) -> test_support::week::Week {
    let client = client(servers::five_in_a_row().at_end_of_body(), host.clone());
    let number = AtomicU32::new(0);
    let was_ok = std::sync::atomic::AtomicBool::new(true);
    let ask = || async {
        let number = number.fetch_add(1, Relaxed) % 5;
        let mut request = Request::get("http://a.example/").body(()).unwrap();
        match number {
            1 => {
                let deadline = Deadline(SECOND);
                request.extensions_mut().insert(deadline);
            }
            2 => *request.method_mut() = Method::POST,
            _ => {}
        }
        let get = async {
            let response = client.clone().oneshot(request).await.ok()?;
            response.into_body().collect().await.ok()
        };
        let patience = match number {
            3 => SECOND / 20,
            4 => SECOND / 4,
            _ => 20 * SECOND,
        };
        let answer = timeout(patience, get).await;
        if number < 3 {
            was_ok.store(matches!(answer, Ok(Some(_))), Relaxed);
        }
        was_ok.load(Relaxed)
    };
    week(&host, ask).await
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_host_that_fails_and_callers_who_leave() {
    protects(&week_of(Host::default()).await, 200);
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_host_that_hangs_and_callers_who_leave() {
    protects(&week_of(Host::hanging()).await, 200);
}
