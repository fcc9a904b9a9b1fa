// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that leave before the head, of a host whose bodies decide.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Origin, State, TokioClock,
};
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Until the head.
const HEAD: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_millis(300);

type Guard = &'static ClientGuard<TokioClock>;

/// The part after the head.
#[derive(Clone, Copy)]
enum Script {
    /// Some data, and an error.
    CutOff,
    /// Data twice a second for longer than a try may take.
    Large,
    Hangs,
}

struct Scripted {
    script: Script,
    frames: usize,
    pause: Pin<Box<Sleep>>,
    /// Counts the bodies that are alive.
    _alive: Arc<()>,
}

impl Body for Scripted {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Self::Data>>>> {
        self.frames += 1;
        match (self.script, self.frames) {
            (Script::CutOff, 1) => {}
            (Script::CutOff, _) => return Poll::Ready(Some(Err(io::Error::other("reset")))),
            (Script::Large, _) => {
                ready!(self.pause.as_mut().poll(context));
                self.pause = Box::pin(sleep(SECOND / 2));
            }
            (Script::Hangs, _) => return Poll::Pending,
        }
        Poll::Ready(Some(Ok(Frame::data(b"data"))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(1 << 30)
    }
}

fn guard() -> Guard {
    let plan: ClientConfig = five_in_a_row().tries(1).at_end_of_body();
    ClientGuard::with(plan, TokioClock, ()).unwrap().leak()
}

type Client = ClientService<(), Response<ClientBody<Scripted, Guard>>, io::Error>;

fn client(guard: Guard, script: Script, alive: &Arc<()>) -> Client {
    let alive = Arc::clone(alive);
    ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(move |_: Request<()>| {
            let alive = Arc::clone(&alive);
            async move {
                sleep(HEAD).await;
                Ok(Response::new(Scripted {
                    script,
                    frames: 0,
                    pause: Box::pin(sleep(Duration::ZERO)),
                    _alive: alive,
                }))
            }
        }))
}

fn get() -> Request<()> {
    Request::get("http://a.example/").body(()).unwrap()
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap()
}

fn state(guard: Guard) -> State {
    guard.hosts().state(&origin())
}

async fn leaves(client: &Client) {
    let left = timeout(PATIENCE, client.clone().oneshot(get())).await;
    assert!(!matches!(left, Ok(Ok(_))), "the head comes later");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cuts_off_each_body_opens_although_most_callers_leave() {
    let (guard, alive) = (guard(), Arc::new(()));
    let client = client(guard, Script::CutOff, &alive);
    for number in 0..5 {
        assert_eq!(state(guard), State::Closed, "{number}");
        if number % 5 < 3 {
            leaves(&client).await;
            // What goes on has its head, and its body.
            sleep(HEAD).await;
        } else {
            let response = client.clone().oneshot(get()).await.unwrap();
            assert!(response.into_body().collect().await.is_err());
        }
    }
    assert_eq!(state(guard), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_body_goes_on_within_the_limit_of_its_try_whose_place_it_keeps() {
    for script in [Script::Large, Script::Hangs] {
        let (guard, alive) = (guard(), Arc::new(()));
        let client = client(guard, script, &alive);
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let client = client.clone();
            callers.spawn(async move { leaves(&client).await });
        }
        callers.join_all().await;
        // Until just before the limit of the try.
        sleep(2_699 * MS).await;
        // One is the client's.
        let services = Arc::strong_count(&alive) - 32;
        sleep(2 * MS).await;
        assert_eq!(Arc::strong_count(&alive), services);
        assert_eq!(state(guard), State::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_of_large_bodies_is_served_although_all_callers_leave() {
    let (guard, alive) = (guard(), Arc::new(()));
    let client = client(guard, Script::Large, &alive);
    let hosts = guard.hosts();
    hosts.command(&origin(), |host| host.trip()).unwrap();
    let begun = Instant::now();
    while !is_served(state(guard)) {
        tokio::spawn(timeout(PATIENCE, client.clone().oneshot(get())));
        sleep(100 * MS).await;
        // The open time, with a fifth; the probe, which lasts as long as a try may.
        assert!(begun.elapsed() <= 5 * SECOND);
    }
    for _ in 0..600 {
        tokio::spawn(timeout(PATIENCE, client.clone().oneshot(get())));
        sleep(100 * MS).await;
        assert!(is_served(state(guard)));
    }
}
