// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests whose caller has gone: they are finished, or kept.

use std::time::Duration;

use atomic_breaker_steps::requests::{KeepBody, KeepConfig, KeepService};
use atomic_breaker_steps::{Lane, Status, Steps, Store};
use futures_util::FutureExt;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt};

use super::keep_server::{Process, Say, Server, post};
use super::support::{Mailbox, only_job, schedule};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_timeout_around_it_interrupts_nothing() {
    let server = Server::new([Say::Take(MINUTE, 503), Say::Take(MINUTE, 200)]);
    let process = Process::new(&server, &KeepConfig::new());
    for key in ["fails", "succeeds"] {
        let sent = process.send(post("/", key, ""));
        assert!(timeout(SECOND, sent).await.is_err());
    }
    process.steps.calls_ended().await;
    let jobs = process.jobs().await;
    assert_eq!((jobs.len(), jobs[0].failures), (1, 1));
    assert!(jobs[0].key.starts_with("fails"));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_for_a_call_or_keeps_it() {
    for (time, is_kept) in [(MINUTE * 2, false), (SECOND * 30, true)] {
        let server = Server::new([Say::Take(MINUTE, 200)]);
        let process = Process::new(&server, &KeepConfig::new());
        let worker = process.steps.work();
        let sent = process.send(post("/", "k", "body"));
        assert!(timeout(SECOND, sent).await.is_err());
        worker.stop_within(time).await;
        let jobs = process.store.counts().await.unwrap();
        assert_eq!(jobs.of(Status::Waiting) == 1, is_kept);
        assert_eq!(jobs.jobs.is_empty(), !is_kept);
        if is_kept {
            assert_eq!(
                process.jobs().await[0].failures,
                0,
                "that did not count as a try"
            );
            let _worker = process.steps.work();
            sleep(SECOND * 5).await;
            assert_eq!(server.seen()[1], server.seen()[0]);
        }
    }
}

type Client = KeepService<FaultyStore, String, String>;

/// Over a store that may fail, for a server without a breaker.
fn client(
    store: &FaultyStore,
    server: &Server,
    keep: &KeepConfig,
    tries: u32,
) -> (Steps<FaultyStore>, Client, Mailbox) {
    let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let later = later.schedule(schedule(tries));
    let mailbox = Mailbox::default();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("server"))
        .workflow(&later)
        .notifier(mailbox.clone())
        .build()
        .unwrap();
    let client = keep.layer(&steps, &later).unwrap().layer(server.clone());
    (steps, client, mailbox)
}

fn fails() -> Fault {
    Fault::Error("no disk".to_owned())
}

#[tokio::test(start_paused = true)]
async fn work_the_store_refused_is_kept_later_if_the_caller_has_gone() {
    for asked in [Asked::Put, Asked::Counts] {
        // Dropped while it is under way, and when the response is there but was not taken.
        for answered in [false, true] {
            let store = FaultyStore::default();
            store.next(asked, 9, fails());
            let server = Server::new([Say::Status(503), Say::Status(503)]);
            let (steps, client, _) = client(&store, &server, &KeepConfig::new(), 9);
            // The caller knows the outcome and may act on it: the store is called once more, and no more.
            let heard = client.clone().oneshot(post("/", "heard", "")).await;
            assert!(heard.is_ok());
            sleep(MINUTE).await;
            assert_eq!(store.left(), 8);
            let mut sent = Box::pin(client.oneshot(post("/", "unheard", "")));
            assert!(sent.as_mut().now_or_never().is_none());
            if answered {
                sleep(SECOND / 100).await;
            }
            drop(sent);
            sleep(SECOND / 10).await;
            steps.calls_ended().await;
            let job = only_job(&store.jobs).await;
            assert!(job.key.starts_with("unheard"), "{job:?}");
            assert_eq!((job.status, job.failures), (Status::Waiting, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_as_are_kept_are_enough_also_if_no_caller_hears_of_it() {
    let store = FaultyStore::default();
    let server = Server::new([Say::Status(503); 4]);
    let keep = KeepConfig::new().most(2);
    let (steps, client, _) = client(&store, &server, &keep, 9);
    store.next(Asked::Put, 4, fails());
    for (at, key) in ["1", "2", "3", "4"].into_iter().enumerate() {
        let mut sent = Box::pin(client.clone().oneshot(post("/", key, "")));
        // Two go on without their callers, so no others do.
        assert!(sent.as_mut().now_or_never().is_none() || at >= 2);
    }
    sleep(SECOND).await;
    steps.calls_ended().await;
    assert_eq!(store.jobs.counts().await.unwrap().of(Status::Waiting), 2);
}

#[tokio::test(start_paused = true)]
async fn a_last_failure_is_reported_if_the_caller_has_gone() {
    let store = FaultyStore::default();
    let server = Server::new([Say::Status(503)]);
    let (steps, client, mailbox) = client(&store, &server, &KeepConfig::new(), 1);
    let mut sent = Box::pin(client.oneshot(post("/", "k", "")));
    assert!(sent.as_mut().now_or_never().is_none());
    drop(sent);
    sleep(SECOND).await;
    steps.calls_ended().await;
    assert_eq!(only_job(&store.jobs).await.status, Status::Dead);
    assert_eq!(mailbox.told.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_has_failed_and_no_response_is_lost() {
    for asked in [Asked::Put, Asked::Counts] {
        let store = FaultyStore::default();
        store.next(asked, 1, Fault::Panic);
        let server = Server::new([Say::Status(503)]);
        let (_steps, client, _) = client(&store, &server, &KeepConfig::new(), 9);
        let answer = client.oneshot(post("/", "k", "")).await;
        let response = super::keep_server::now(answer);
        assert_eq!(
            (response.status().as_u16(), &**response.body()),
            (503, "hello")
        );
    }
}
