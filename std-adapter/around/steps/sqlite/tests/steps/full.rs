// SPDX-License-Identifier: MIT OR Apache-2.0
//! A disk that is full and then has room again: a separate file system in memory.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_steps::{
    EnqueueError, Lane, Schedule, Status, StepError, Steps, Store, Workflow,
};
use atomic_breaker_steps_sqlite::SqliteStore;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::folder::Folder;
use test_support::mount::with_room;

const PLACE: &str = "ATOMIC_BREAKER_FULL";

#[test]
fn a_full_disk_is_an_error_and_wedges_nothing() {
    if let Some(place) = std::env::var_os(PLACE) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let limit = Duration::from_secs(60);
        let within = runtime.block_on(async { timeout(limit, within(place.as_ref())).await });
        return within.expect("it wedges");
    }
    let folder = Folder::new();
    let Some(mut child) = with_room("1m", folder.as_ref()) else {
        return;
    };
    let child = child
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "full::a_full_disk_is_an_error_and_wedges_nothing",
        ])
        .env(PLACE, folder.as_ref());
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// Takes all the room that is left.
fn fill(folder: &Path) {
    let mut file = File::create(folder.join("filler")).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

fn make_room(folder: &Path) {
    std::fs::remove_file(folder.join("filler")).unwrap();
}

async fn within(folder: &Path) {
    let (ran, may_end) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let step = {
        let (ran, may_end) = (Arc::clone(&ran), Arc::clone(&may_end));
        move |state: String| {
            let (ran, may_end) = (Arc::clone(&ran), Arc::clone(&may_end));
            async move {
                if ran.fetch_add(1, Ordering::SeqCst) == 0 {
                    may_end.notified().await;
                }
                // So large that there is no room for it by chance.
                Ok::<_, StepError>(state + &"x".repeat(50_000))
            }
        }
    };
    let workflow = Workflow::new("kind")
        .step("only", "a", step)
        .schedule(Schedule::new().first(Duration::from_millis(10)));
    let store = SqliteStore::open(folder.join("jobs.db")).unwrap();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a"))
        .workflow(&workflow)
        .lease(Duration::from_secs(1))
        .poll(Duration::from_millis(50))
        .build()
        .unwrap();
    let _worker = steps.work();
    let first = steps
        .enqueue(&workflow, "first", &String::new())
        .await
        .unwrap();
    while ran.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(1)).await;
    }

    fill(folder);
    let large = "y".repeat(50_000);
    let error = steps
        .enqueue(&workflow, "second", &large)
        .await
        .unwrap_err();
    assert!(matches!(error, EnqueueError::Store(_)), "{error:?}");
    assert!(
        error.to_string().contains("make room on the disk"),
        "{error}"
    );
    let error = SqliteStore::open(folder.join("other.db"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("other.db"), "{error}");
    // The job ends, and that cannot be saved before its lease is over.
    may_end.notify_one();
    sleep(Duration::from_secs(3)).await;
    let job = store.job(first).await.unwrap().unwrap();
    assert_eq!((job.status, &*job.state), (Status::Waiting, "\"\""));
    let counts = store.counts().await.unwrap();
    let waits = ("a".to_owned(), Status::Waiting, 1);
    assert_eq!(counts.jobs, [waits], "no second one");

    make_room(folder);
    let second = steps.enqueue(&workflow, "second", &large).await.unwrap();
    for id in [first, second] {
        while store.job(id).await.unwrap().unwrap().status != Status::Done {
            sleep(Duration::from_millis(10)).await;
        }
    }
    let runs = ran.load(Ordering::SeqCst);
    assert!(runs >= 3, "the first one was done again: {runs}");
}
