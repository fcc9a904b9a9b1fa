// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kept requests that are sent again.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, HttpClassifier, State, TokioClock};
use atomic_breaker_steps::{
    Lane, MemoryStore, Status, Steps, Store,
    requests::{KeepBody, KeepConfig, KeptRequest},
};
use atomic_breaker_tower::BreakerLayer;
use tokio::time::sleep;
use tower::Layer;

use super::keep_server::{Process, Say, Server, kept, post, rules};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn when_it_is_done_its_headers_and_body_are_gone() {
    let server = Server::new([Say::Status(503), Say::Status(201)]);
    let process = Process::new(&server, &KeepConfig::new());
    let _worker = process.steps.work();
    let job = kept(process.send(post("/orders", "k", "body")).await);
    sleep(MINUTE).await;
    let row = process.job(job).await;
    assert_eq!(row.status, Status::Done);
    assert!(
        !row.state.contains("body") && !row.state.contains("text/plain"),
        "{}",
        row.state
    );
    let request: KeptRequest = serde_json::from_str(&row.state).unwrap();
    assert_eq!(request.status().unwrap(), 201);
    assert_eq!(request.request().uri().path(), "/orders");
    let request = request.request();
    assert!(request.body().is_empty() && request.headers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_unsuccessful_response_is_reported_to_a_person() {
    for status in [400, 401, 404, 409, 422, 301, 302, 307, 501] {
        let server = Server::new([Say::Status(503), Say::Status(status)]);
        let process = Process::new(&server, &KeepConfig::new());
        let _worker = process.steps.work();
        let job = kept(process.send(post("/", "k", "")).await);
        sleep(MINUTE).await;
        assert_eq!(process.job(job).await.status, Status::Dead);
        let told = process.mailbox.told.lock().unwrap();
        assert!(told[0].error.starts_with(&status.to_string()), "{told:?}");
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_tried_again_when_the_server_said() {
    let plan = [
        Say::Status(502),
        Say::RetryAfter(429, 100),
        Say::Fail("connection reset"),
        Say::Status(303),
    ];
    let server = Server::new(plan);
    let process = Process::new(&server, &KeepConfig::new());
    let _worker = process.steps.work();
    let job = kept(process.send(post("/", "k", "")).await);
    sleep(SECOND * 5).await;
    let row = process.job(job).await;
    assert_eq!((row.status, row.failures), (Status::Waiting, 2));
    assert!((95_000..=100_000).contains(&row.due_in_ms), "{row:?}");
    assert_eq!(
        process.breaker.state(),
        State::Closed,
        "others may have a share"
    );
    sleep(MINUTE * 3).await;
    assert_eq!(process.job(job).await.status, Status::Done);
    let history = process.store.history(job).await.unwrap();
    let errors: Vec<&str> = history.iter().map(|failed| &*failed.error).collect();
    assert_eq!(
        errors,
        [
            "502 Bad Gateway",
            "429 Too Many Requests",
            "connection reset"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_replay_is_the_probe_of_its_lane_and_the_others_wait_for_it() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    let _worker = process.steps.work();
    process.breaker.trip();
    for key in ["1", "2", "3"] {
        kept(process.send(post("/", key, key)).await);
    }
    server
        .plan
        .lock()
        .unwrap()
        .push_back(Say::Take(SECOND * 20, 200));
    sleep(SECOND * 610).await;
    assert_eq!(process.breaker.state(), State::HalfOpen);
    assert_eq!(server.seen().len(), 1);
    // A request that arrives now is neither sent nor lost.
    kept(process.send(post("/", "4", "4")).await);
    sleep(MINUTE).await;
    let bodies: Vec<Vec<u8>> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, [b"1", b"2", b"3", b"4"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_process_sends_what_the_old_one_kept() {
    let server = Server::new([]);
    let store = MemoryStore::new();
    let old = Process::over(store.clone(), &server, &KeepConfig::new());
    old.breaker.trip();
    for key in ["1", "2", "3"] {
        kept(old.send(post("/", key, key)).await);
    }
    drop(old);
    let new: Process = Process::over(store, &server, &KeepConfig::new());
    let worker = new.steps.work();
    sleep(SECOND * 3).await;
    worker.stop().await;
    assert_eq!(server.seen().len(), 3);
    assert_eq!(new.store.counts().await.unwrap().of(Status::Done), 3);
}

#[tokio::test(start_paused = true)]
async fn a_client_with_a_breaker_needs_a_lane_without_one() {
    let server = Server::new([]);
    let keep = KeepConfig::new();
    let breaker = Arc::new(Breaker::new(rules(), TokioClock));
    let guard = BreakerLayer::new(Arc::clone(&breaker)).report(HttpClassifier::new());
    let later =
        keep.replay::<KeepBody<String>, _, _>("later", "server", guard.layer(server.clone()));
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("server"))
        .workflow(&later)
        .build()
        .unwrap();
    let client = keep.layer(&steps, &later).unwrap();
    let client = client.layer(guard.layer(server.clone()));
    let _worker = steps.work();
    breaker.trip();
    let job = kept(tower::ServiceExt::oneshot(client, post("/", "k", "body")).await);
    sleep(MINUTE * 9).await;
    let row = steps.store().job(job).await.unwrap().unwrap();
    assert_eq!((row.status, row.failures), (Status::Waiting, 0));
    assert!(
        (1..=60_000).contains(&row.due_in_ms),
        "due when the breaker said: {row:?}"
    );
    sleep(MINUTE * 2).await;
    let row = steps.store().job(job).await.unwrap().unwrap();
    assert_eq!(row.status, Status::Done);
    assert_eq!(breaker.state(), State::Closed);
}

/// A lane with a breaker knows itself when it admits.
#[tokio::test(start_paused = true)]
async fn in_a_lane_without_a_breaker_it_is_due_when_another_said() {
    let server = Server::new([]);
    let keep = KeepConfig::new();
    for is_guarded in [false, true] {
        let breaker = Arc::new(Breaker::new(rules(), TokioClock));
        let guard = BreakerLayer::new(Arc::clone(&breaker)).report(HttpClassifier::new());
        let later =
            keep.replay::<KeepBody<String>, _, _>("later", "server", guard.layer(server.clone()));
        let lane = Lane::new("server");
        let lane = if is_guarded {
            lane.guarded_within(Arc::clone(&breaker))
        } else {
            lane
        };
        let steps = Steps::builder(MemoryStore::new()).lane(lane);
        let steps = steps.workflow(&later).build().unwrap();
        let client = keep.layer(&steps, &later).unwrap();
        let client = client.layer(guard.layer(server.clone()));
        breaker.trip();
        let job = kept(tower::ServiceExt::oneshot(client, post("/", "k", "")).await);
        let job = steps.store().job(job).await.unwrap().unwrap();
        let due_in_ms = if is_guarded { 0 } else { 600_000 };
        assert_eq!((job.status, job.due_in_ms), (Status::Waiting, due_in_ms));
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_that_is_no_request_is_not_read() {
    let server = Server::new([Say::Status(503)]);
    let process = Process::new(&server, &KeepConfig::new());
    let job = kept(process.send(post("/", "k", "")).await);
    let state = process.job(job).await.state;
    for (good, bad) in [
        ("\"POST\"", "\"P ST\""),
        ("https://server.example/", "https://server example/"),
        ("\"text/plain\"", "\"text\\nplain\""),
        ("\"text/plain\"", "{\"base64\":\"A\"}"),
        ("\"text/plain\"", "{\"base64\":\"A===\"}"),
        ("\"text/plain\"", "{\"base64\":\"A!==\"}"),
        ("\"content-type\"", "\"content type\""),
    ] {
        let bad = state.replace(good, bad);
        assert_ne!(bad, state);
        assert!(serde_json::from_str::<KeptRequest>(&bad).is_err(), "{bad}");
    }
}
