// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: live, bounded, ended.

use std::time::Duration;

use crate::support::{App, World};
use atomic_breaker_admin::Timeline;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, Response};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

async fn open(app: &App, last: Option<&str>) -> Response<Body> {
    let mut request = Request::get("/events").header("host", "localhost");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    app.0
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap()
}

struct Stream(BodyDataStream, String);

/// The name of an event, its id, and its data.
type Event = (String, String, Value);

impl Stream {
    async fn open(app: &App, last: Option<&str>) -> Self {
        let response = open(app, last).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self(response.into_body().into_data_stream(), String::new())
    }

    /// None at its end.
    async fn next(&mut self) -> Option<Event> {
        while !self.1.contains("\n\n") {
            let piece = self.0.next().await?.unwrap();
            self.1.push_str(std::str::from_utf8(&piece).unwrap());
        }
        let (event, rest) = self.1.split_once("\n\n").unwrap();
        let field = |name: &str| {
            let line = event.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        let data = serde_json::from_str(&field("data: ")).unwrap();
        let next = (field("event: "), field("id: "), data);
        self.1 = String::from(rest);
        Some(next)
    }
}

#[tokio::test(start_paused = true)]
async fn events_come_at_once_and_beats_in_between() {
    let world = World::new();
    let app = world.app();
    let mut stream = Stream::open(&app, None).await;
    assert_eq!(stream.next().await.unwrap().0, "beat");
    let started = Instant::now();
    world.trip("a");
    let (name, _, data) = stream.next().await.unwrap();
    assert_eq!(
        (name.as_str(), &data["key"], &data["to"]),
        ("happened", &"a".into(), &"open".into())
    );
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(stream.next().await.unwrap().0, "beat");
    assert!(
        started.elapsed() <= Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_stream_continues_where_the_last_one_ended() {
    let world = World::new();
    let app = world.app();
    let mut stream = Stream::open(&app, None).await;
    world.trip("a");
    let started = Instant::now();
    let mut last = String::new();
    while let Some((_, id, _)) = stream.next().await {
        last = id;
    }
    assert_eq!(started.elapsed(), Duration::from_secs(20));
    world.trip("b");
    let mut stream = Stream::open(&app, Some(&last)).await;
    let (name, _, data) = stream.next().await.unwrap();
    assert_eq!(
        (name.as_str(), &data["key"]),
        ("happened", &"b".into()),
        "nothing is lost or told twice"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_missed_too_much_is_told_to_reload() {
    let world = World::with(
        Timeline::keeping(5, 100).unwrap(),
        crate::support::RULES,
        64,
    );
    let app = world.app();
    let mut stream = Stream::open(&app, None).await;
    let (_, start, _) = stream.next().await.unwrap();
    for number in 0..10 {
        world.trip(&number.to_string());
    }
    assert_eq!(stream.next().await.unwrap().0, "reload");
    world.trip("later");
    assert_eq!(
        stream.next().await.unwrap().2["key"],
        "later",
        "from then on all is told"
    );
    for last in [
        start.as_str(),
        "0-1",
        "ffffffff-99999999",
        "",
        "-",
        "nonsense",
        "00000000-18446744073709551615",
    ] {
        let mut stream = Stream::open(&app, Some(last)).await;
        assert_eq!(stream.next().await.unwrap().0, "reload", "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_live_pages_is_limited() {
    let world = World::new();
    let app = App::of(world.admin().streams(2));
    let first = Stream::open(&app, None).await;
    let mut second = Stream::open(&app, None).await;
    let refused = app.get("/events").await;
    refused.refused_with(503, "Admin::streams");
    assert_eq!(refused.headers["retry-after"], "5");
    drop(first);
    // Its task is told by the channel.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let third = Stream::open(&app, None).await;
    while second.next().await.is_some() {}
    drop(third);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop((
        Stream::open(&app, None).await,
        Stream::open(&app, None).await,
    ));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_reader_holds_its_place_for_twenty_seconds() {
    let world = World::new();
    let app = App::of(world.admin().streams(1));
    let stuck = open(&app, None).await;
    for number in 0..64 {
        world.trip(&number.to_string());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(open(&app, None).await.status(), 503);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(open(&app, None).await.status(), 200);
    drop(stuck);
}

#[tokio::test]
async fn a_thousand_clients_are_served_or_refused_and_make_room_when_they_leave() {
    let world = World::new();
    let app = App::of(world.admin().streams(100));
    let address = app.serve().await;
    let mut clients = Vec::new();
    let (mut served, mut refused) = (0, 0);
    for _ in 0..1_000 {
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await
            .unwrap();
        let mut head = [0; 12];
        timeout(Duration::from_secs(10), client.read_exact(&mut head))
            .await
            .unwrap()
            .unwrap();
        match &head {
            b"HTTP/1.1 200" => served += 1,
            b"HTTP/1.1 503" => refused += 1,
            other => panic!("{other:?}"),
        }
        clients.push(client);
    }
    assert_eq!((served, refused), (100, 900));
    // The service goes on.
    world.trip("a");
    assert_eq!(app.get("/status?state=open").await.json()["matching"], 1);
    drop(clients);
    let again = async {
        while open(&app, None).await.status() != 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), again).await.unwrap();
}

#[tokio::test]
async fn a_graceful_shutdown_waits_no_longer_than_a_stream() {
    let world = World::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let app = world.app().0;
    let server = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        axum::serve(listener, app)
            .with_graceful_shutdown(stopped)
            .await
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    client
        .write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    client.read_exact(&mut [0; 12]).await.unwrap();
    stop.send(()).unwrap();
    // From here on there is nothing to read.
    tokio::time::pause();
    timeout(Duration::from_secs(25), server)
        .await
        .expect("20 s")
        .unwrap()
        .unwrap();
}
