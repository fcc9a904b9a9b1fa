// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that wait until a job has ended.

use std::time::Duration;

use atomic_breaker_steps::{JobId, MemoryStore, ProgressError, Status, Steps, Store, Workflow};
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::support::{Do, Script, builder, done, schedule};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

/// Two processes with one store: one that waits, and one that works if it is told to.
fn two<D: Store + Clone>(
    store: &D,
    other: &MemoryStore,
    script: &Script,
) -> (Workflow<Vec<String>>, Steps<D>, Steps<MemoryStore>) {
    let workflow = script.workflow().schedule(schedule(2));
    let waits = builder(store).workflow(&workflow).build().unwrap();
    let works = builder(other).workflow(&workflow).build().unwrap();
    (workflow, waits, works)
}

#[tokio::test(start_paused = true)]
async fn a_job_that_ends_here_is_noticed_at_once() {
    let takes = [Do::Take(4 * SECOND); 3];
    let (store, script) = (MemoryStore::new(), Script::new(takes));
    let (workflow, steps, _) = two(&store, &store, &script);
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let began = Instant::now();
    let waits = (0..3).map(|_| steps.wait_done(&workflow, id, 60 * SECOND));
    for job in join_all(waits).await {
        assert_eq!(job.unwrap().unwrap().result(), Some(&done()));
    }
    assert_eq!(began.elapsed(), 12 * SECOND);
    // And once more, when it is over.
    let job = steps.wait_done(&workflow, id, 60 * SECOND).await.unwrap();
    assert_eq!(job.unwrap().status, Status::Done);
    assert_eq!(began.elapsed(), 12 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_ends_elsewhere_is_noticed_within_a_second() {
    for (plan, takes, status) in [
        (Do::Take(5 * SECOND), 5 * SECOND, Status::Done),
        (Do::Fail, 2 * SECOND, Status::Dead),
        (Do::End, SECOND, Status::Dead),
    ] {
        let (store, script) = (MemoryStore::new(), Script::new([plan, plan]));
        let (workflow, steps, works) = two(&store, &store, &script);
        let _worker = works.work();
        let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
        let began = Instant::now();
        let job = steps.wait_done(&workflow, id, 60 * SECOND).await.unwrap();
        assert_eq!(job.unwrap().status, status);
        // It is claimed within a second.
        let (took, most) = (began.elapsed(), 2 * takes + 2 * SECOND);
        assert!(took <= most, "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_limit_has_passed_it_is_told_how_far_the_job_is() {
    let plan = [Do::Succeed, Do::Hang];
    let (store, script) = (MemoryStore::new(), Script::new(plan));
    let (workflow, steps, _) = two(&store, &store, &script);
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    for limit in [SECOND, 7 * SECOND, Duration::ZERO] {
        let began = Instant::now();
        let job = steps.wait_done(&workflow, id, limit).await.unwrap();
        let job = job.unwrap();
        assert_eq!((job.status, &*job.step), (Status::Running, "second"));
        assert_eq!((&job.state[..], job.result()), (&done()[..1], None));
        assert_eq!(began.elapsed(), limit);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_cancelled_forgotten_or_not_there_is_not_waited_for() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let (workflow, steps, _) = two(&store, &store, &script);
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let operator = async {
        sleep(10 * SECOND).await;
        assert!(store.cancel(id).await.unwrap());
    };
    let began = Instant::now();
    let waits = steps.wait_done(&workflow, id, Duration::MAX);
    let (job, ()) = tokio::join!(waits, operator);
    assert_eq!(job.unwrap().unwrap().status, Status::Cancelled);
    assert!(began.elapsed() <= 11 * SECOND);
    sleep(SECOND).await;
    assert_eq!(store.forget(Duration::ZERO, 9).await.unwrap(), 1);
    for id in [id.get(), 0, -1, i64::MIN, i64::MAX] {
        let began = Instant::now();
        let job = steps.wait_done(&workflow, JobId::new(id), 60 * SECOND);
        assert_eq!(job.await.unwrap(), None);
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_meanwhile_is_asked_again() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Take(3 * SECOND)]));
    let store = FaultyStore::to(&memory);
    let (workflow, steps, works) = two(&store, &memory, &script);
    let _worker = works.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    store.next(Asked::Job, 4, Fault::Error("no disk".to_owned()));
    store.next(Asked::Job, 1, Fault::Silence);
    let job = steps.wait_done(&workflow, id, 60 * SECOND).await.unwrap();
    assert_eq!(job.unwrap().result(), Some(&done()));
    assert_eq!(store.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_to_the_end_is_an_error_soon_after_the_limit() {
    for fault in [
        Fault::Error("no disk".to_owned()),
        Fault::Panic,
        Fault::Silence,
    ] {
        let (memory, script) = (MemoryStore::new(), Script::new([]));
        let store = FaultyStore::to(&memory);
        let (workflow, steps, _) = two(&store, &memory, &script);
        let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
        store.next(Asked::Job, u32::MAX, fault);
        let began = Instant::now();
        let error = steps.wait_done(&workflow, id, 3 * SECOND).await;
        let error = error.unwrap_err();
        assert!(matches!(error, ProgressError::Store(_)), "{error}");
        let took = began.elapsed();
        assert!(3 * SECOND <= took && took <= 8 * SECOND, "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_stops_waiting_changes_nothing_for_the_others() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Take(30 * SECOND)]));
    let store = FaultyStore::to(&memory);
    let (workflow, steps, _) = two(&store, &memory, &script);
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    // Before it looks again, and after a few looks.
    assert!(
        steps
            .wait_done(&workflow, id, SECOND)
            .now_or_never()
            .is_none()
    );
    for after in 0..100 {
        let waits = steps.wait_done(&workflow, id, 60 * SECOND);
        let dropped = tokio::time::timeout(Duration::from_millis(after), waits);
        assert!(dropped.await.is_err());
        let looks = store.asked().len();
        sleep(SECOND / 20).await;
        let since = &store.asked()[looks..];
        assert!(!since.contains(&Asked::Job), "who has gone looks no more");
    }
    // A look that never ends is left, too.
    store.next(Asked::Job, 1, Fault::Silence);
    let waits = steps.wait_done(&workflow, id, 60 * SECOND);
    assert!(tokio::time::timeout(SECOND, waits).await.is_err());
    assert_eq!(script.calls(), ["first"]);
    let job = steps.wait_done(&workflow, id, 60 * SECOND).await.unwrap();
    assert_eq!(job.unwrap().result(), Some(&done()));
}

#[tokio::test(start_paused = true)]
async fn who_has_gone_leaves_the_others_what_they_are_woken_by() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(9 * SECOND / 2)]));
    let (workflow, steps, _) = two(&store, &store, &script);
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let began = Instant::now();
    let stays = steps.wait_done(&workflow, id, 60 * SECOND);
    let goes = steps.wait_done(&workflow, id, SECOND);
    let (job, _) = tokio::join!(stays, goes);
    assert_eq!(job.unwrap().unwrap().result(), Some(&done()));
    assert_eq!(began.elapsed(), 9 * SECOND / 2);
}

/// The memory of this process, in KiB.
#[cfg(target_os = "linux")]
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let (_, line) = status.split_once("VmRSS:").unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// In a process of its own, as the other tests take memory, too.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_has_gone_leaves_no_memory_behind() {
    const ALONE: &str = "WAITS_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "waiting::who_has_gone_leaves_no_memory_behind"]);
        assert!(child.env(ALONE, "1").status().unwrap().success());
        return;
    }
    let store = MemoryStore::new();
    let (workflow, steps, _) = two(&store, &store, &Script::new([]));
    let mut ids = (1..).map(JobId::new);
    let mut all_wait = async |many| {
        for id in ids.by_ref().take(many) {
            let job = steps.wait_done(&workflow, id, SECOND).await;
            assert_eq!(job.unwrap(), None);
        }
        resident_kib()
    };
    let before = all_wait(10_000).await;
    let after = all_wait(50_000).await;
    // Each that stayed would take about 100 bytes.
    assert!(after < before + 1_024, "{before} KiB became {after} KiB");
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_alone_looks_at_first_soon_then_less_often() {
    let (memory, script) = (MemoryStore::new(), Script::new([]));
    let store = FaultyStore::to(&memory);
    let (workflow, steps, _) = two(&store, &memory, &script);
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let before = store.asked().len();
    steps.wait_done(&workflow, id, SECOND).await.unwrap();
    let asked = &store.asked()[before..];
    // After 50 ms, 125, 237, 406 and 659, and when the limit has passed.
    let looks = [vec![Asked::Job; 7], vec![Asked::History]].concat();
    assert_eq!(asked, looks);
}

#[tokio::test(start_paused = true)]
async fn thousands_that_wait_look_a_hundred_times_a_second() {
    let (memory, script) = (MemoryStore::new(), Script::new([]));
    let store = FaultyStore::to(&memory);
    let (workflow, steps, _) = two(&store, &memory, &script);
    let mut ids = Vec::new();
    for key in 0..20 {
        let id = steps.enqueue(&workflow, key.to_string(), &Vec::new()).await;
        ids.push(id.unwrap());
    }
    let (waiters, seconds) = (3_000, 20);
    let waits = (0..waiters).map(|n| {
        let id = ids[n % ids.len()];
        steps.wait_done(&workflow, id, seconds * SECOND)
    });
    let before = store.asked().len();
    let waits = join_all(waits);
    let look = async {
        sleep((seconds - 1) * SECOND).await;
        store.asked().len() - before - waiters
    };
    let (_, looks) = tokio::join!(waits, look);
    let most = 100 * (seconds as usize - 1) + 1;
    assert!((most * 9 / 10..=most).contains(&looks), "{looks}");
    // One that waits alone: after 50 ms, 75 ms and so on, then each second.
    let before = store.asked().len();
    steps
        .wait_done(&workflow, ids[0], 60 * SECOND)
        .await
        .unwrap();
    let looks = store.asked().len() - before;
    assert!((60..=72).contains(&looks), "{looks}");
}
