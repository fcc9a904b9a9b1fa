// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts that keep the readers of their bodies waiting.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{
    BodyError, BodyLimit, BodyLimits, ClientBody, ClientConfig, ClientGuard, ClientService, Origin,
    State, TokioClock,
};
use http::{Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

const LIMITS: BodyLimits = BodyLimits::new()
    .first_byte(Duration::from_secs(30))
    .idle(Duration::from_secs(5))
    .whole(Duration::from_secs(60));

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<Tokens, Guard>>, io::Error>;

/// A token after each of these pauses, each of which begins when the one before is over, whether anyone reads or not.
#[derive(Debug)]
struct Tokens {
    at: VecDeque<Pin<Box<Sleep>>>,
}

impl Tokens {
    fn after(pauses: &[Duration]) -> Self {
        let mut next = Instant::now();
        let at = pauses.iter().map(|pause| {
            next += *pause;
            Box::pin(tokio::time::sleep_until(next))
        });
        Self { at: at.collect() }
    }
}

impl Body for Tokens {
    type Data = &'static [u8];
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        let Some(next) = self.at.front_mut() else {
            return Poll::Ready(None);
        };
        next.as_mut().poll(context).map(|()| {
            self.at.pop_front();
            Some(Ok(Frame::data(b"token".as_slice())))
        })
    }
}

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

fn client(guard: Guard, pauses: &'static [Duration]) -> Client {
    ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<()>| async {
            Ok::<_, io::Error>(Response::new(Tokens::after(pauses)))
        }))
}

async fn ask(client: &Client) -> ClientBody<Tokens, Guard> {
    let request = Request::get("http://model.example/").body(()).unwrap();
    client.clone().oneshot(request).await.unwrap().into_body()
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://model.example")).unwrap()
}

fn failures(guard: Guard) -> u16 {
    let entry = guard.hosts().entry(&origin());
    entry.map_or(0, |entry| entry.snapshot.failures())
}

/// Reads to the end. Returns how many tokens came, which limit was met, and how long it took.
async fn read(mut body: ClientBody<Tokens, Guard>) -> (u32, Option<BodyLimit>, Duration) {
    let (begin, mut tokens) = (Instant::now(), 0);
    loop {
        match body.frame().await {
            Some(Ok(_)) => tokens += 1,
            Some(Err(BodyError::TimedOut(limit))) => {
                assert!(body.frame().await.is_none(), "it has ended");
                return (tokens, Some(limit), begin.elapsed());
            }
            Some(Err(other)) => panic!("{other}"),
            None => return (tokens, None, begin.elapsed()),
        }
    }
}

const fn seconds<const N: usize>(seconds: [u64; N]) -> [Duration; N] {
    let mut pauses = [Duration::ZERO; N];
    let mut at = 0;
    while at < N {
        pauses[at] = Duration::from_secs(seconds[at]);
        at += 1;
    }
    pauses
}

#[tokio::test(start_paused = true)]
async fn a_body_within_its_limits_is_a_success() {
    static PAUSES: [Duration; 8] = seconds([29, 4, 4, 4, 4, 4, 4, 4]);
    let guard = guard(five_in_a_row().body_limits(LIMITS));
    let client = client(guard, &PAUSES);
    for _ in 0..10 {
        assert_eq!(read(ask(&client).await).await, (8, None, 57 * SECOND));
    }
    assert_eq!(
        (guard.hosts().state(&origin()), failures(guard)),
        (State::Closed, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn each_limit_ends_the_body_and_is_a_failure_of_the_host() {
    static FIRST: [Duration; 2] = seconds([31, 1]);
    static IDLE: [Duration; 3] = seconds([1, 1, 6]);
    static WHOLE: [Duration; 40] = seconds([4; 40]);
    let (first, idle, whole) = (30 * SECOND, 5 * SECOND, 60 * SECOND);
    let none = BodyLimits::new();
    let cases: [(_, &'static [Duration], _, _, _); 6] = [
        (LIMITS, &FIRST, 0, BodyLimit::FirstByte(first), 30),
        (LIMITS, &IDLE, 2, BodyLimit::Idle(idle), 7),
        (LIMITS, &WHOLE, 15, BodyLimit::Whole(whole), 60),
        // Each also without the others.
        (
            none.first_byte(first),
            &FIRST,
            0,
            BodyLimit::FirstByte(first),
            30,
        ),
        (none.idle(idle), &IDLE, 2, BodyLimit::Idle(idle), 7),
        (none.whole(whole), &WHOLE, 15, BodyLimit::Whole(whole), 60),
    ];
    for (limits, pauses, tokens, limit, after) in cases {
        let guard = guard(five_in_a_row().body_limits(limits));
        let client = client(guard, pauses);
        for failed in 1..=5 {
            let (came, met, took) = read(ask(&client).await).await;
            let tolerance = Duration::from_secs(after)..=Duration::from_secs(after) + 10 * MS;
            assert!(tolerance.contains(&took), "{took:?}");
            assert_eq!((came, met), (tokens, Some(limit)));
            if failed < 5 {
                assert_eq!(failures(guard), failed);
            }
        }
        assert_eq!(guard.hosts().state(&origin()), State::Open);
        let failure = guard
            .hosts()
            .entry(&origin())
            .unwrap()
            .last_failure
            .unwrap();
        assert_eq!(*failure.text, *limit.to_string());
    }
}

/// It takes a minute between two tokens, which have long arrived.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_uses_up_none_of_it() {
    static PAUSES: [Duration; 5] = seconds([1; 5]);
    let guard = guard(five_in_a_row().body_limits(LIMITS));
    let client = client(guard, &PAUSES);
    for _ in 0..5 {
        let mut body = ask(&client).await;
        for _ in 0..5 {
            sleep(60 * SECOND).await;
            assert!(body.frame().await.unwrap().is_ok());
        }
        assert!(body.frame().await.is_none());
    }
    assert_eq!(
        (guard.hosts().state(&origin()), failures(guard)),
        (State::Closed, 0)
    );
}

/// With a reader that polls it now and then, such as one among others in a task.
#[tokio::test(start_paused = true)]
async fn a_body_that_is_polled_again_goes_on_waiting() {
    static PAUSES: [Duration; 2] = seconds([1, 8]);
    let guard = guard(five_in_a_row().body_limits(LIMITS));
    let mut body = ask(&client(guard, &PAUSES)).await;
    assert!(body.frame().await.unwrap().is_ok());
    let begin = Instant::now();
    loop {
        if let Ok(frame) = timeout(300 * MS, body.frame()).await {
            assert!(frame.unwrap().is_err());
            break;
        }
    }
    assert!(
        begin.elapsed() <= 5 * SECOND + 310 * MS,
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(failures(guard), 1);
}

#[tokio::test(start_paused = true)]
async fn callers_that_leave_a_body_are_nobodys_failure() {
    static PAUSES: [Duration; 2] = seconds([1, 600]);
    let guard = guard(five_in_a_row().body_limits(LIMITS));
    let client = client(guard, &PAUSES);
    for _ in 0..50 {
        let body = ask(&client).await;
        assert!(timeout(3 * SECOND, read(body)).await.is_err());
    }
    assert_eq!(
        (guard.hosts().state(&origin()), failures(guard)),
        (State::Closed, 0)
    );
}

/// A stream without a known length: its first data is enough for a probe, which then holds no slot.
#[tokio::test(start_paused = true)]
async fn a_host_that_streams_again_is_served_again() {
    static HANGS: [Duration; 1] = seconds([3_600]);
    static WELL: [Duration; 3] = seconds([1, 1, 1]);
    let guard = guard(five_in_a_row().tries(1).body_limits(LIMITS));
    let hangs = client(guard, &HANGS);
    for _ in 0..5 {
        assert!(read(ask(&hangs).await).await.1.is_some());
    }
    assert_eq!(guard.hosts().state(&origin()), State::Open);
    sleep(2 * SECOND).await;
    let well = client(guard, &WELL);
    assert_eq!(read(ask(&well).await).await.0, 3);
    assert!(is_served(guard.hosts().state(&origin())));
}

#[tokio::test(start_paused = true)]
async fn without_limits_a_body_may_take_for_ever() {
    static PAUSES: [Duration; 2] = seconds([3_600, 3_600]);
    let guard = guard(five_in_a_row().at_end_of_body());
    let body = ask(&client(guard, &PAUSES)).await;
    assert_eq!(read(body).await, (2, None, 7_200 * SECOND));
    assert_eq!(failures(guard), 0);
}

#[test]
fn limits_that_make_no_sense_are_errors_and_the_others_are_part_of_the_plan() {
    let error = |limits| {
        let checked = five_in_a_row().body_limits(limits).check();
        checked.unwrap_err().to_string()
    };
    assert!(error(BodyLimits::new().idle(Duration::ZERO)).contains("of 0"));
    assert!(error(LIMITS.whole(20 * SECOND)).contains("shorter"));
    let plan = five_in_a_row().body_limits(LIMITS).probes_at_end();
    let text = plan.to_string();
    for part in [
        "30s for the first data of a body",
        "5s for further data",
        "60s for a whole body",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(five_in_a_row().probes_at_end().body_limits(LIMITS), plan);
}

/// reqwest's own response, whose error names the limit.
#[cfg(feature = "reqwest")]
#[tokio::test(start_paused = true)]
async fn a_response_of_reqwest_has_the_limits_too() {
    use atomic_breaker_http::{Bytes, ClientError};

    static PAUSES: [Duration; 2] = seconds([1, 600]);
    #[derive(Debug)]
    struct AsBytes(Tokens);

    impl Body for AsBytes {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let frame = Pin::new(&mut self.0).poll_frame(context);
            frame.map(|it| it.map(|it| it.map(|frame| frame.map_data(Bytes::from_static))))
        }
    }

    let guard = guard(five_in_a_row().body_limits(LIMITS));
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<Bytes>| async {
            let body = reqwest::Body::wrap(AsBytes(Tokens::after(&PAUSES)));
            Ok::<reqwest::Response, ClientError>(Response::new(body).into())
        }));
    let request = Request::get("http://model.example/")
        .body(Bytes::new())
        .unwrap();
    let response = client.oneshot(request).await.unwrap();
    let error = response.bytes().await.unwrap_err();
    let mut causes =
        std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source());
    assert!(causes.any(|cause| {
        cause
            .to_string()
            .contains("no further data of the body within 5s")
    }));
    assert_eq!(failures(guard), 1);
}
