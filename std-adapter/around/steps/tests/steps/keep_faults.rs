// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are to be kept, stores that fail or are late, and clients that hang.

use std::time::Duration;

use atomic_breaker_http::HttpClassifier;
use atomic_breaker_steps::{
    Lane, MemoryStore, Status, Steps, Store,
    requests::{Answer, KeepBody, KeepConfig, KeepService, NotKept},
};
use atomic_breaker_tower::BreakerLayer;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, ServiceExt};

use super::keep_server::{Say, Server, kept, now, post, rules};
use super::support::{only_job, schedule};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

type Client<D> = KeepService<D, String, String>;

fn client<D: Store>(store: D, server: &Server) -> (Steps<D>, Client<D>) {
    let keep = KeepConfig::new();
    let later = keep
        .replay::<KeepBody<String>, _, _>("later", "server", server.clone())
        .schedule(schedule(9));
    let steps = Steps::builder(store)
        .lane(Lane::new("server"))
        .time_limit(30 * SECOND)
        .workflow(&later)
        .build()
        .unwrap();
    let breaker = atomic_breaker_http::Breaker::new(rules(), atomic_breaker_http::TokioClock);
    let guard = BreakerLayer::new(std::sync::Arc::new(breaker)).report(HttpClassifier::new());
    let keeps = keep.layer(&steps, &later).unwrap();
    let client = keeps.layer(guard.layer(server.clone()));
    (steps, client)
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_count_is_waited_for_once() {
    let server = Server::new([Say::Status(503); 100]);
    let store = FaultyStore::default();
    store.next(Asked::Counts, u32::MAX, Fault::Fails(5 * SECOND));
    let (_steps, client) = client(store, &server);
    let began = Instant::now();
    let sent = (0..100).map(|key| client.clone().oneshot(post("/", &key.to_string(), "")));
    let answers = join_all(sent).await;
    assert!(began.elapsed() <= 10 * SECOND, "{:?}", began.elapsed());
    for answer in answers {
        let why = match answer {
            Ok(Answer::Now(response)) => response.extensions().get::<NotKept>().cloned(),
            Ok(answer) => panic!("{answer:?}"),
            Err(error) => error.not_kept().cloned(),
        };
        assert!(matches!(why, Some(NotKept::Store(_))), "{why:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_after_a_count_has_failed_has_the_store_asked_again() {
    let server = Server::new([Say::Status(503); 2]);
    let store = FaultyStore::default();
    store.next(Asked::Counts, 1, Fault::Error("no disk".to_owned()));
    let (_steps, client) = client(store, &server);
    let response = now(client.clone().oneshot(post("/", "1", "")).await);
    let why = response.extensions().get();
    assert!(matches!(why, Some(NotKept::Store(_))), "{why:?}");
    // Even if no time has passed since.
    kept(client.oneshot(post("/", "2", "")).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_is_interrupted_by_the_time_limit() {
    let server = Server::new([Say::Take(3_600 * SECOND, 200); 2]);
    let store = MemoryStore::new();
    let (steps, client) = client(store.clone(), &server);
    let began = Instant::now();
    let sent = client.clone().oneshot(post("/", "k", "body"));
    assert!(timeout(5 * SECOND, sent).await.is_err());
    steps.calls_ended().await;
    assert_eq!(began.elapsed(), 30 * SECOND);
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 1));
    // A caller that waits for the request learns that it is kept.
    sleep(SECOND).await;
    kept(client.oneshot(post("/", "other", "")).await);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_for_a_request_or_keeps_it() {
    for (time, is_kept) in [(20 * SECOND, false), (5 * SECOND, true)] {
        for is_heard in [false, true] {
            let server = Server::new([Say::Take(10 * SECOND, 200)]);
            let store = MemoryStore::new();
            let (steps, client) = client(store.clone(), &server);
            let worker = steps.work();
            let sent = tokio::spawn(client.oneshot(post("/", "k", "body")));
            sleep(SECOND).await;
            if !is_heard {
                sent.abort();
            }
            worker.stop_within(time).await;
            let jobs = store.counts().await.unwrap();
            assert_eq!(jobs.of(Status::Waiting) == 1, is_kept);
            if is_kept {
                assert_eq!(
                    only_job(&store).await.failures,
                    0,
                    "that did not count as a try"
                );
            }
            if is_heard {
                let answer = sent.await.unwrap().unwrap();
                assert_eq!(matches!(answer, Answer::Kept(_)), is_kept);
            }
        }
    }
}
