// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are kept, and those that are not.

use std::error::Error;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, HttpClassifier, MayRepeat, Rejection, State, breaker};
use atomic_breaker_steps::{
    Lane, MemoryStore, Status, Steps, Store,
    requests::{Answer, KeepBody, KeepConfig, NotKept},
};
use atomic_breaker_tower::BreakerLayer;
use http::Request;
use tokio::time::sleep;
use tower::util::MapResponseLayer;
use tower::{Layer, ServiceBuilder, ServiceExt};

use super::keep_server::{Process, Say, Server, kept, now, post};
use super::support::schedule;

const MINUTE: Duration = Duration::from_secs(60);

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_response_is_passed_on_and_nothing_is_kept() {
    let statuses = [200, 201, 303, 400, 404, 409];
    let server = Server::new(statuses.map(Say::Status));
    let process = Process::new(&server, &KeepConfig::new());
    for status in statuses {
        let response = now(process.send(post("/", "k", "body")).await);
        assert_eq!(response.status(), status);
        assert_eq!(response.body(), "hello");
    }
    assert!(process.jobs().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn rejected_requests_are_sent_once_in_order_after_recovery() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    let _worker = process.steps.work();
    process.breaker.trip();
    let bodies: Vec<String> = (0..20).map(|at| format!("body {at:02}")).collect();
    for (at, body) in bodies.iter().enumerate() {
        let job = kept(process.send(post("/orders", &at.to_string(), body)).await);
        let job = process.job(job).await;
        assert_eq!((job.status, job.failures), (Status::Waiting, 0));
        sleep(Duration::from_millis(1_357)).await;
    }
    sleep(MINUTE * 9).await;
    assert!(server.lines().is_empty(), "the breaker is open");
    sleep(MINUTE * 2).await;
    let sent: Vec<String> = bodies
        .iter()
        .map(|body| format!("POST https://server.example/orders {body}"))
        .collect();
    assert_eq!(server.lines(), sent);
    let headers = &server.seen()[0].headers;
    assert_eq!(headers["idempotency-key"], "0");
    assert_eq!(headers["content-type"], "text/plain");
    assert_eq!(process.breaker.state(), State::Closed);
    let counts = process.store.counts().await.unwrap();
    assert_eq!(counts.of(Status::Done), 20);
    assert!(process.mailbox.told.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_kept_and_counts_as_the_first_try() {
    for (says, error, due) in [
        (Say::Status(500), "500 Internal Server Error", 1_000),
        (Say::Status(502), "502 Bad Gateway", 1_000),
        (Say::Status(504), "504 Gateway Timeout", 1_000),
        (Say::RetryAfter(503, 30), "503 Service Unavailable", 30_000),
        (Say::RetryAfter(429, 40), "429 Too Many Requests", 40_000),
        (Say::Status(408), "408 Request Timeout", 1_000),
        (Say::Status(507), "507 Insufficient Storage", 1_000),
        (Say::Fail("connection refused"), "connection refused", 1_000),
    ] {
        let server = Server::new([says]);
        let process = Process::new(&server, &KeepConfig::new());
        let job = kept(process.send(post("/", "k", "body")).await);
        let row = process.job(job).await;
        assert_eq!((row.status, row.failures), (Status::Waiting, 1));
        assert!(
            (due - 5..=due).contains(&row.due_in_ms),
            "{says:?}: {row:?}"
        );
        let history = process.store.history(job).await.unwrap();
        assert_eq!((history.len(), &*history[0].error), (1, error));
        let _worker = process.steps.work();
        // A breaker that the server opened stays open for ten minutes.
        sleep(MINUTE * 11).await;
        assert_eq!(process.job(job).await.status, Status::Done, "{says:?}");
        let sent = server.seen();
        assert_eq!((sent.len(), &sent[0]), (2, &sent[1]));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_not_to_be_kept_are_handled_as_without_the_layer() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    let key = |request: http::request::Builder| request.header("idempotency-key", "k");
    for request in [
        Request::post("/"),
        Request::put("/"),
        Request::delete("/"),
        Request::post("/").header("idempotency-key", "\"\""),
        key(key(Request::post("/"))),
        key(Request::get("/")),
        key(Request::head("/")),
        key(Request::post("/")).extension(MayRepeat(false)),
    ] {
        let request = request.body(String::new()).unwrap();
        let error = process.send(request).await.unwrap_err();
        assert!(error.not_kept().is_none(), "{error}");
        assert!(Rejection::in_chain(&error).is_some());
        assert!(
            error.to_string().starts_with("circuit breaker is open"),
            "{error}"
        );
    }
    assert!(process.jobs().await.is_empty());
    // A closure decides instead.
    let all = KeepConfig::new().keep_if(|request| request.uri.path() == "/");
    let process = Process::new(&server, &all);
    process.breaker.trip();
    for _ in 0..2 {
        kept(
            process
                .send(Request::get("/").body(String::new()).unwrap())
                .await,
        );
    }
    assert_eq!(process.jobs().await.len(), 2, "each has its own key");
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_mistake_is_not_kept() {
    // hyper-util returns this for a URI that cannot be sent.
    let server = Server::new([Say::Fail("client error (UserAbsoluteUriRequired)")]);
    let process = Process::new(&server, &KeepConfig::new());
    let error = process.send(post("/", "k", "")).await.unwrap_err();
    assert!(error.not_kept().is_none(), "{error}");
    assert!(process.jobs().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kept_request_may_be_answered_as_accepted() {
    let server = Server::new([Say::Status(201), Say::Status(503)]);
    let process = Process::new(&server, &KeepConfig::new());
    let accepts = MapResponseLayer::new(Answer::accepted);
    let client = accepts.layer(process.client.clone());
    for status in [201, 202] {
        let response = client.clone().oneshot(post("/", "k", "")).await.unwrap();
        assert_eq!(response.status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn one_key_for_one_destination_is_one_job() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    let first = kept(process.send(post("/pay", "order-7", "body")).await);
    assert_eq!(
        kept(process.send(post("/pay", "order-7", "body")).await),
        first
    );
    let other = kept(process.send(post("/ship", "order-7", "body")).await);
    assert_ne!(other, first);
    // No caller learns that this one is kept.
    let error = process.send(post("/pay", "order-7", "another body")).await;
    let error = error.unwrap_err();
    assert!(matches!(error.not_kept(), Some(NotKept::OtherRequest(job)) if *job == first));
    let _worker = process.steps.work();
    sleep(MINUTE * 11).await;
    assert_eq!(server.lines().len(), 2);
    process.breaker.trip();
    assert_eq!(
        kept(process.send(post("/pay", "order-7", "body")).await),
        first,
        "done"
    );
    let error = process.send(post("/pay", "order-7", "another body")).await;
    assert!(error.unwrap_err().to_string().contains("another request"));
}

#[tokio::test(start_paused = true)]
async fn a_sent_key_returns_its_job_until_that_is_forgotten() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    let worker = process.steps.work();
    process.breaker.trip();
    let first = kept(process.send(post("/", "k", "body")).await);
    process.breaker.reset();
    sleep(SECOND * 12).await;
    assert_eq!(process.job(first).await.status, Status::Done);
    process.breaker.trip();
    assert_eq!(kept(process.send(post("/", "k", "body")).await), first);
    process.breaker.reset();
    sleep(SECOND * 60).await;
    assert_eq!(server.lines().len(), 1, "it is not sent again");
    // Longer than done jobs are kept; a worker that starts forgets them.
    worker.stop().await;
    sleep(SECOND * 8 * 24 * 3_600).await;
    let _worker = process.steps.work();
    sleep(SECOND).await;
    process.breaker.trip();
    let second = kept(process.send(post("/", "k", "body")).await);
    assert_ne!(second, first);
    process.breaker.reset();
    sleep(SECOND * 12).await;
    assert_eq!(server.lines().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_ended_without_success_is_not_reported_as_kept() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    let job = kept(process.send(post("/", "k", "")).await);
    assert!(process.store.cancel(job).await.unwrap());
    let error = process.send(post("/", "k", "")).await.unwrap_err();
    assert!(error.to_string().ends_with("send another key"), "{error}");
    assert!(matches!(
        error.not_kept(),
        Some(NotKept::Ended(_, Status::Cancelled))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_found_through_a_kept_error() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    let error = process
        .send(Request::post("/").body(String::new()).unwrap())
        .await;
    let error = error.unwrap_err();
    let mut link: Option<&(dyn Error + 'static)> = Some(&error);
    while link.is_some_and(|error| !error.is::<Rejection>()) {
        link = link.unwrap().source();
    }
    assert!(link.is_some(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_a_second_try_is_not_kept() {
    let server = Server::new([Say::Status(503)]);
    let keep = KeepConfig::new();
    let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let process = Process::with(
        MemoryStore::new(),
        &server,
        &keep,
        &later.schedule(schedule(1)),
    );
    let response = now(process.send(post("/", "k", "")).await);
    let why = response.extensions().get::<NotKept>();
    assert!(matches!(why, Some(NotKept::NoTries)), "{why:?}");
}

static SERVER: Breaker = breaker(Config::new());

#[tokio::test(start_paused = true)]
async fn a_request_can_be_made_in_a_task_whatever_is_below() {
    let server = Server::new([Say::Status(503)]);
    let keep = KeepConfig::new();
    let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("server").guarded(&SERVER))
        .workflow(&later)
        .build()
        .unwrap();
    let client = ServiceBuilder::new()
        .layer(keep.layer(&steps, &later).unwrap())
        .layer(BreakerLayer::new(&SERVER).report(HttpClassifier::new()))
        .service(server);
    let task = tokio::spawn(async move { client.clone().oneshot(post("/", "k", "")).await });
    kept(task.await.unwrap());
}
