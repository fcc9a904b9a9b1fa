// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores that fail, hang, or are slow to count.

use std::time::Duration;

use atomic_breaker_steps::{Status, Steps};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{Office, keys};
use crate::support::App;
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

const PATHS: [&str; 3] = [
    "/jobs?of=office",
    "/jobs/counts?of=office",
    "/job?of=office&id=1",
];

#[tokio::test]
async fn the_text_of_a_store_error_is_shown_and_bounded() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    let error = "connection refused ".repeat(1_000);
    office.store.set(Some(Fault::Error(error)));
    for path in PATHS {
        let error = app.get(path).await.refused(503);
        assert!(error.starts_with("the store of \"office\" failed: connection refused"));
        assert!(error.len() < 600, "{}", error.len());
    }
    let cancel = json!({ "of": "office", "id": id.to_string(), "do": "cancel" });
    app.change_job(&cancel).await.refused(503);
    office.store.set(None);
    assert_eq!(keys(&app.jobs("").await), ["k"], "it is back");
    assert_eq!(office.status(id).await, Status::Waiting);
}

#[tokio::test(start_paused = true)]
async fn requests_to_a_hanging_store_end_after_five_seconds_however_many_there_are() {
    let office = Office::new();
    let other = FaultyStore::default();
    let steps = Steps::builder(other).build().unwrap();
    let app = App::of(office.admin().steps("other", &steps));
    office.store.set(Some(Fault::Silence));
    let began = Instant::now();
    let asked = (0..300).map(|number| app.get(PATHS[number % 3]));
    let answers = join_all(asked).await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    for answer in answers {
        let error = answer.refused(503);
        assert!(error.contains("did not respond within 5 s"), "{error}");
    }
    let cancel = json!({ "of": "office", "id": "1", "do": "cancel" });
    let hangs = app.change_job(&cancel);
    let began = Instant::now();
    let (hangs, status, other) = tokio::join!(hangs, app.get("/status"), async {
        let answer = app.get("/jobs?of=other").await;
        (answer, began.elapsed())
    });
    hangs.refused(503);
    assert_eq!(status.json()["steps"][0]["name"], "office");
    other.0.json();
    assert_eq!(other.1, Duration::ZERO, "no other request waits");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_reads_of_a_slow_store_delay_a_command_by_no_more_than_one_of_them() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    let slow = Duration::from_millis(100);
    office.store.next(Asked::List, 1_000, Fault::Late(slow));
    let reads: Vec<_> = (0..1_000)
        .map(|_| {
            let app = app.clone();
            tokio::spawn(async move { app.get("/jobs?of=office").await.status })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let began = Instant::now();
    let cancel = json!({ "of": "office", "id": id.to_string(), "do": "cancel" });
    app.change_job(&cancel).await.json();
    // It looks, acts, and looks again.
    assert!(began.elapsed() <= 3 * slow, "{:?}", began.elapsed());
    for read in reads {
        // Those that came too late for the five seconds were told so.
        let status = read.await.unwrap().as_u16();
        assert!(status == 200 || status == 503, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_pages_make_a_store_count_once_in_two_seconds() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    for _ in 0..20 {
        join_all((0..10).map(|_| app.get("/jobs/counts?of=office"))).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let counted = office.store.counted();
    assert!((4..=6).contains(&counted), "{counted} times in 10 s");
    app.get("/jobs/counts?of=office").await.json();
    let cancel = json!({ "of": "office", "id": id.to_string(), "do": "cancel" });
    app.change_job(&cancel).await.json();
    let counts = app.get("/jobs/counts?of=office").await.json();
    assert_eq!(counts["due"], 0, "what was changed is seen at once");
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_count_is_seen_at_once() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    office.store.set(Some(Fault::Late(SECOND)));
    let (before, ()) = tokio::join!(app.get("/jobs/counts?of=office"), async {
        tokio::time::sleep(SECOND / 2).await;
        office.store.set(None);
        let cancel = json!({ "of": "office", "id": id.to_string(), "do": "cancel" });
        app.change_job(&cancel).await.json();
    });
    assert_eq!(before.json()["due"], 1);
    let after = app.get("/jobs/counts?of=office").await.json();
    assert_eq!(after["due"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_counts_too_slowly_is_left_alone_for_a_while() {
    let office = Office::new();
    let app = office.app();
    office.store.set(Some(Fault::Late(6 * SECOND)));
    let began = Instant::now();
    while began.elapsed() < 150 * SECOND {
        app.get("/jobs/counts?of=office").await.refused(503);
        tokio::time::sleep(SECOND).await;
    }
    let counted = office.store.counted();
    assert!((9..=11).contains(&counted), "{counted} times 5 s in 150 s");
    office.store.set(None);
    tokio::time::sleep(10 * SECOND).await;
    app.get("/jobs/counts?of=office").await.json();
}

#[tokio::test(start_paused = true)]
async fn clients_that_hang_up_do_not_make_a_store_work_more() {
    let office = Office::new();
    let app = office.app();
    office.store.set(Some(Fault::Silence));
    for number in 0..300 {
        let asked = app.get(PATHS[number % 3]);
        timeout(SECOND / 1_000, asked).await.unwrap_err();
    }
    let asked = office.store.asked().len();
    assert!((1..=2).contains(&asked), "{asked} at the same time");
    tokio::time::sleep(5 * SECOND).await;
    office.store.set(None);
    app.jobs("").await;
}

#[tokio::test]
async fn a_store_that_panics_has_failed() {
    let office = Office::new();
    let app = office.app();
    office.store.set(Some(Fault::Panic));
    for path in PATHS {
        let error = app.get(path).await.refused(503);
        assert!(error.contains("the store panicked: a bug"), "{error}");
    }
    office.store.set(None);
    app.jobs("").await;
}
