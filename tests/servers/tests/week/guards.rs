// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guarded clients that wait for the end of the body, rules for one host, and waiting for a breaker.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use atomic_breaker_http::{
    BodyError, ClientConfig, ClientGuard, Origin, RequestError, State, TokioClock,
};
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use super::SECOND;
use test_support::week::{Host, OUTAGES, protects, week};

type Guard = &'static ClientGuard<TokioClock>;

fn at_end(config: ClientConfig) -> Guard {
    at_head(config.at_end_of_body())
}

fn at_head(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

/// The length of a body that states its length.
const KNOWN: Option<u64> = Some(5);

fn request() -> Request<()> {
    Request::get("http://a.example/").body(()).unwrap()
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap()
}

type Part = io::Result<Frame<&'static [u8]>>;

/// A body of five bytes: it arrives, is cut off after two bytes, or hangs.
struct Hello {
    last: Pin<Box<dyn Future<Output = Part> + Send>>,
    frames: u32,
    length: Option<u64>,
}

impl Body for Hello {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Part>> {
        let frames = self.frames;
        self.frames += 1;
        match frames {
            0 => Poll::Ready(Some(Ok(Frame::data(b"he")))),
            1 => {
                let last = self.last.as_mut().poll(context);
                if last.is_pending() {
                    self.frames = 1;
                }
                last.map(Some)
            }
            _ => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

/// Returns a head at once; a truncated body takes a tenth of a second.
fn client_at_end(
    guard: Guard,
    host: Host,
    length: Option<u64>,
) -> impl Service<
    Request<()>,
    Response = Response<impl Body<Data = &'static [u8], Error = BodyError<io::Error>> + Send>,
    Error = RequestError<io::Error>,
    Future: Send,
> + Clone {
    guard.layer().layer(service_fn(move |_: Request<()>| {
        let host = host.clone();
        let last = async move {
            let answer = host.answer().await;
            if answer.is_err() {
                sleep(SECOND / 10).await;
            }
            answer.map(|_| Frame::data(&b"llo"[..]))
        };
        let body = Hello {
            last: Box::pin(last),
            frames: 0,
            length,
        };
        async { Ok(Response::new(body)) }
    }))
}

async fn get<B>(
    client: impl Service<Request<()>, Response = Response<B>, Error = RequestError<io::Error>>,
) -> Result<usize, Box<dyn Error + Send + Sync>>
where
    B: Body<Data = &'static [u8], Error = BodyError<io::Error>>,
{
    let response = client.oneshot(request()).await?;
    let body = response.into_body().collect().await?;
    Ok(body.to_bytes().len())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_left_by_the_question_mark() {
    let host = Host::default();
    let client = client_at_end(at_end(servers::five_in_a_row()), host.clone(), KNOWN);
    let ask = || async { get(client.clone()).await.is_ok_and(|length| length == 5) };
    // The breaker is open for half a minute at most, here and below.
    protects(&week(&host, ask).await, 130);
}

/// A probe waits for the end of its body only if the body is known to end, or if the guard is configured to wait.
#[tokio::test(start_paused = true)]
async fn bodies_of_unknown_length() {
    let host = Host::default();
    let config = servers::five_in_a_row().at_end_of_body().probes_at_end();
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let client = client_at_end(guard, host.clone(), None);
    let ask = || async { get(client.clone()).await.is_ok() };
    protects(&week(&host, ask).await, 130);
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_client_in_tasks() {
    let host = Host::default();
    let client = client_at_end(at_end(servers::five_in_a_row()), host.clone(), KNOWN);
    let ask = || {
        let answer = tokio::spawn(get(client.clone()));
        async { answer.await.unwrap().is_ok() }
    };
    protects(&week(&host, ask).await, 130);
}

#[tokio::test(start_paused = true)]
async fn two_clients_of_one_guard() {
    let host = Host::default();
    let guard = at_end(servers::five_in_a_row());
    let clients = [(); 2].map(|()| client_at_end(guard, host.clone(), KNOWN));
    let number = AtomicU32::new(0);
    let ask = || {
        let client = &clients[number.fetch_add(1, Relaxed) as usize % 2];
        async { get(client.clone()).await.is_ok() }
    };
    protects(&week(&host, ask).await, 130);
}

/// The limits end with the head, so a body that hangs counts as a slow call would, as the documentation says.
#[tokio::test(start_paused = true)]
async fn a_timeout_around_a_body_that_hangs() {
    let host = Host::hanging();
    let rules = servers::five_in_a_row().breaker_config().slow_call(SECOND);
    let client = client_at_end(
        at_end(servers::five_in_a_row().breaker(rules)),
        host.clone(),
        KNOWN,
    );
    let ask = || async {
        let answer = timeout(2 * SECOND, get(client.clone())).await;
        answer.is_ok_and(|answer| answer.is_ok())
    };
    protects(&week(&host, ask).await, 200);
}

/// While the host is down, every third reader leaves at once if the body does not arrive.
#[tokio::test(start_paused = true)]
async fn bodies_that_are_dropped_in_the_middle() {
    let host = Host::default();
    let client = client_at_end(at_end(servers::five_in_a_row()), host.clone(), KNOWN);
    let number = AtomicU32::new(0);
    let ask = || {
        let leaves = number.fetch_add(1, Relaxed).is_multiple_of(3);
        let patience = if leaves { SECOND / 20 } else { SECOND };
        let answer = timeout(patience, get(client.clone()));
        async { answer.await.is_ok_and(|answer| answer.is_ok()) }
    };
    protects(&week(&host, ask).await, 200);
}

/// The call is reported at the head.
fn client_at_head(
    guard: Guard,
    host: Host,
) -> impl Service<Request<()>, Response = Response<impl Body>, Error = RequestError<io::Error>> + Clone
{
    guard.layer().layer(service_fn(move |_: Request<()>| {
        let host = host.clone();
        async move { host.answer().await.map(|_| Response::new(String::new())) }
    }))
}

#[tokio::test(start_paused = true)]
async fn a_host_with_a_gradual_return() {
    let host = Host::default();
    let guard = at_head(servers::five_in_a_row());
    let rules = guard.config().breaker_config();
    let rules = rules.gradual_return(10, 60 * SECOND);
    guard.set_breaker_config_of(&origin(), rules).unwrap();
    let client = client_at_head(guard, host.clone());
    let returning = AtomicU32::new(0);
    let ask = || async {
        let answer = client.clone().oneshot(request()).await;
        if let Err(RequestError::Rejected(rejection)) = &answer {
            let is_returning = rejection.state() == State::Returning;
            returning.fetch_add(is_returning.into(), Relaxed);
        }
        answer.is_ok()
    };
    protects(&week(&host, ask).await, 130);
    assert_eq!(guard.hosts().state(&origin()), State::Closed);
    // On average half of sixty seconds, after each outage.
    let returning = returning.into_inner() / OUTAGES;
    assert!((15..45).contains(&returning), "{returning}");
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_returned_at_once_unless_waiting_is_requested() {
    for waits in [None, Some(1)] {
        let host = Host::default();
        let config = servers::five_in_a_row().tries(1);
        let config = waits.map_or(config, |waits| config.rejection_waits(waits));
        let client = client_at_head(at_head(config), host.clone());
        let (waited, rejected) = (AtomicU32::new(0), AtomicU32::new(0));
        let ask = || async {
            let begin = Instant::now();
            let answer = client.clone().oneshot(request()).await;
            waited.fetch_add((!begin.elapsed().is_zero()).into(), Relaxed);
            let is_rejected = matches!(answer, Err(RequestError::Rejected(_)));
            rejected.fetch_add(is_rejected.into(), Relaxed);
            answer.is_ok()
        };
        protects(&week(&host, ask).await, 500);
        let (waited, rejected) = (waited.into_inner(), rejected.into_inner());
        assert!(rejected > OUTAGES * 2_000, "{rejected}");
        assert_eq!(waited > 0, waits.is_some(), "{waited}");
    }
}
