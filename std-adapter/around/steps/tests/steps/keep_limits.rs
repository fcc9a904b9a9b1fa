// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of requests that are kept, and the others that are refused.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, HttpClassifier, Rejection, breaker};
use atomic_breaker_steps::{
    Lane, MemoryStore, Steps, Workflow,
    requests::{KeepBody, KeepConfig, NotKept},
};
use atomic_breaker_tower::BreakerLayer;
use futures_util::{FutureExt, future::join_all};
use http::{Request, Response};
use http_body::Body;
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use super::keep_server::{Process, Say, Server, kept, now, post};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn one_request_too_many_gets_an_error_until_some_are_done() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new().most(3));
    process.breaker.trip();
    for key in ["1", "2", "3"] {
        kept(process.send(post("/", key, "")).await);
    }
    let error = process.send(post("/", "4", "")).await.unwrap_err();
    assert!(matches!(error.not_kept(), Some(NotKept::Full(3))));
    assert!(Rejection::in_chain(&error).is_some());
    let says = error.to_string();
    assert!(
        says.starts_with("circuit breaker is open") && says.contains("3 requests are kept already"),
        "{says}"
    );
    let _worker = process.steps.work();
    process.breaker.reset();
    sleep(SECOND * 12).await;
    assert_eq!(server.lines().len(), 3);
    process.breaker.trip();
    kept(process.send(post("/", "5", "")).await);
}

#[tokio::test(start_paused = true)]
async fn a_failed_response_that_is_not_kept_is_handed_on_with_why() {
    let server = Server::new([Say::Status(503), Say::RetryAfter(429, 7)]);
    let process = Process::new(&server, &KeepConfig::new().most(1));
    kept(process.send(post("/", "1", "")).await);
    let response = now(process.send(post("/", "2", "")).await);
    assert_eq!(
        (response.status().as_u16(), &**response.body()),
        (429, "hello")
    );
    assert_eq!(response.headers()["retry-after"], "7");
    assert!(matches!(
        response.extensions().get(),
        Some(NotKept::Full(1))
    ));
}

#[tokio::test(start_paused = true)]
async fn many_at_once_keep_no_more_than_that() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new().most(7));
    process.breaker.trip();
    let keys: Vec<String> = (0..100).map(|key| key.to_string()).collect();
    let sent = keys.iter().map(|key| process.send(post("/", key, "")));
    let answers = join_all(sent).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 7);
    assert_eq!(process.jobs().await.len(), 7);
    // Repeats of kept requests take no room.
    sleep(SECOND * 60).await;
    let process = Process::over(process.store.clone(), &server, &KeepConfig::new().most(8));
    process.breaker.trip();
    for _ in 0..9 {
        kept(process.send(post("/", "0", "")).await);
    }
    kept(process.send(post("/", "new", "")).await);
    assert!(process.send(post("/", "newer", "")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_repeat_of_a_kept_request_counts_as_kept_even_without_room() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new().most(1));
    process.breaker.trip();
    let job = kept(process.send(post("/", "1", "body")).await);
    assert_eq!(kept(process.send(post("/", "1", "body")).await), job);
    let error = process.send(post("/", "1", "other")).await.unwrap_err();
    assert!(
        matches!(error.not_kept(), Some(NotKept::OtherRequest(_))),
        "{error}"
    );
    let error = process.send(post("/", "2", "")).await.unwrap_err();
    assert!(
        matches!(error.not_kept(), Some(NotKept::Full(1))),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn layers_of_one_process_count_together() {
    let server = Server::new([]);
    let keep = KeepConfig::new().most(3);
    let process = Process::new(&server, &keep);
    process.breaker.trip();
    let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let keeps = keep.layer(&process.steps, &later).unwrap();
    let guard = BreakerLayer::new(process.breaker.clone()).report(HttpClassifier::new());
    let other = keeps.layer(guard.layer(server));
    let mut accepted = 0;
    for key in 0..5 {
        let key = key.to_string();
        let answers = [
            process.send(post("/one", &key, "")).await,
            other.clone().oneshot(post("/other", &key, "")).await,
        ];
        accepted += answers.iter().filter(|answer| answer.is_ok()).count();
    }
    assert_eq!(accepted, 3);
}

#[tokio::test(start_paused = true)]
async fn processes_see_what_others_keep_when_they_count_again() {
    let server = Server::new([]);
    let store = MemoryStore::new();
    let keep = KeepConfig::new().most(5);
    let processes = [(); 3].map(|()| Process::over(store.clone(), &server, &keep));
    let mut accepted = 0;
    for key in 0..20 {
        for (at, process) in processes.iter().enumerate() {
            process.breaker.trip();
            let answer = process.send(post("/", &format!("{key} of {at}"), "")).await;
            accepted += usize::from(answer.is_ok());
        }
    }
    assert_eq!(processes[0].jobs().await.len(), accepted);
    assert!((5..=15).contains(&accepted), "{accepted}");
    sleep(SECOND * 11).await;
    for process in &processes {
        assert!(process.send(post("/", "late", "")).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_no_store_takes_is_an_error() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    kept(process.send(post("/", &"k".repeat(238), "")).await);
    let error = process.send(post("/", &"k".repeat(239), "")).await;
    assert!(error.unwrap_err().to_string().contains("1 to 238"));
    for bad in ["", "a\0b"] {
        let keep = KeepConfig::new().key(move |_| bad.to_owned());
        let process = Process::new(&server, &keep);
        process.breaker.trip();
        let error = process.send(post("/", "k", "")).await.unwrap_err();
        assert!(matches!(error.not_kept(), Some(NotKept::Key(_))), "{error}");
    }
}

#[tokio::test]
async fn invalid_settings_are_errors() {
    let server = Server::new([]);
    let later =
        KeepConfig::new().replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("server"))
        .workflow(&later)
        .build()
        .unwrap();
    for (keep, says) in [
        (KeepConfig::new().header("a b"), "not a header name"),
        (KeepConfig::new().header(""), "not a header name"),
        (KeepConfig::new().header("Authorization"), "secret_header"),
        (KeepConfig::new().header("cookie"), "secret_header"),
        (KeepConfig::new().header("set-cookie"), "secret_header"),
        (
            KeepConfig::new().header("proxy-authorization"),
            "secret_header",
        ),
        (KeepConfig::new().header("Content-Length"), "leave it out"),
        (
            KeepConfig::new().secret_header("transfer-encoding"),
            "leave it out",
        ),
        (KeepConfig::new().largest_body(0), "set 1 to 524288"),
        (
            KeepConfig::new().largest_body((512 << 10) + 1),
            "set 1 to 524288",
        ),
        (KeepConfig::new().most(0), "at least 1"),
    ] {
        let error = keep.layer::<_, String>(&steps, &later).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    let unknown = KeepConfig::new().replay::<KeepBody<String>, _, _>("unknown", "server", server);
    let error = KeepConfig::new()
        .layer::<_, String>(&steps, &unknown)
        .unwrap_err();
    assert!(error.to_string().contains("not known here"), "{error}");
    let empty = Workflow::new("empty");
    let error = KeepConfig::new()
        .layer::<_, String>(&steps, &empty)
        .unwrap_err();
    assert!(
        error.to_string().contains("does not have one step"),
        "{error}"
    );
}

static SERVER: Breaker = breaker(Config::new());

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_does_not_hide_why_it_was_to_be_kept() {
    let server = Server::new([]);
    let store = FaultyStore::default();
    store.next(Asked::Put, 1, Fault::Error("no disk".to_owned()));
    let keep = KeepConfig::new();
    let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("server"))
        .workflow(&later)
        .build()
        .unwrap();
    SERVER.trip();
    let guard = BreakerLayer::new(&SERVER).report(HttpClassifier::new());
    let client = keep
        .layer(&steps, &later)
        .unwrap()
        .layer(guard.layer(server));
    let error = client
        .clone()
        .oneshot(post("/", "k", ""))
        .await
        .unwrap_err();
    assert!(Rejection::in_chain(&error).is_some());
    assert!(
        error
            .to_string()
            .ends_with("not kept: the store failed: no disk"),
        "{error}"
    );
    kept(client.oneshot(post("/", "k", "")).await);
}

async fn mistaken(request: Request<KeepBody<String>>) -> Result<Response<String>, Infallible> {
    assert!(request.body().is_end_stream(), "a mistake");
    Ok(Response::default())
}

#[tokio::test(start_paused = true)]
async fn a_panic_below_reaches_the_caller() {
    let keep = KeepConfig::new();
    let broken = service_fn(mistaken);
    let later = keep.replay("later", "server", broken);
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("server"))
        .workflow(&later)
        .build()
        .unwrap();
    let client = keep.layer(&steps, &later).unwrap().layer(broken);
    let sent = AssertUnwindSafe(client.oneshot(post("/", "k", "body")));
    let panic = sent.catch_unwind().await.unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"a mistake"));
}
