// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which a failed step is tried again, and at which a person is notified.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_steps::{MemoryStore, Notifier, Ran, Schedule, Status, Store, Stuck};
use tokio::time::{Instant, sleep};

use super::support::{Do, Mailbox, Script, builder, done, only_job, schedule, with_mailbox};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn at_the_limit_a_job_is_dead_and_a_person_is_notified() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 9]));
    let workflow = script.workflow().schedule(schedule(3));
    let (steps, mail) = with_mailbox(&store, &workflow);
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Dead, 3));
    assert_eq!(script.calls().len(), 3);
    let told = mail.told.lock().unwrap();
    assert_eq!(
        (told.len(), told[0].status, &*told[0].error),
        (1, Status::Dead, "refused")
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_moves_the_due_time() {
    let hint = Duration::from_secs(30);
    let (store, script) = (MemoryStore::new(), Script::new([Do::RetryAfter(hint)]));
    let workflow = script.workflow().schedule(schedule(3));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE).await;
    let times = script.times();
    assert_eq!(times[1] - times[0], 30_000);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_that_no_store_can_keep_does_no_harm() {
    let hint = Duration::MAX;
    let (store, script) = (MemoryStore::new(), Script::new([Do::RetryAfter(hint)]));
    let workflow = script.workflow().schedule(schedule(3));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    let ten_years_ms = 10 * 365 * 24 * 60 * 60 * 1_000;
    let job = only_job(&store).await;
    assert!(
        job.status == Status::Waiting && job.due_in_ms > ten_years_ms,
        "{job:?}"
    );
    let ran = steps.run(&workflow, "l", &Vec::new()).await.unwrap();
    assert_eq!(ran, Ran::Done(done()));
}

#[tokio::test(start_paused = true)]
async fn ten_tries_take_36_hours_and_two_of_them_notify_a_person() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 20]));
    let plain = Schedule::new().jitter_percent(0);
    let workflow = script.workflow().schedule(plain);
    let (steps, mail) = with_mailbox(&store, &workflow);
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let mut told_at = None;
    for _ in 0..40 * 60 {
        sleep(MINUTE).await;
        if told_at.is_none() && !mail.told.lock().unwrap().is_empty() {
            told_at = Some(script.calls().len());
        }
    }
    let times = script.times();
    assert_eq!(times.len(), 10);
    let pauses: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (at, pause) in (0..).zip(pauses) {
        // Each is longer by the same factor, also the last one, which is a day.
        let wanted = Duration::from_secs(10).mul_f64(3.112_f64.powi(at));
        let difference = Duration::from_millis(pause).abs_diff(wanted);
        assert!(difference.as_millis() < 20, "{at}: {pause}");
    }
    let last = Duration::from_millis(times[9] - times[8]).as_secs();
    assert!((87_900..88_000).contains(&last), "24.4 hours: {last}");
    let seconds = (times[9] - times[0]) / 1_000;
    assert!((129_500..129_900).contains(&seconds), "36 hours: {seconds}");
    assert_eq!(told_at, Some(7));
    let told = mail.told.lock().unwrap().clone();
    let told: Vec<_> = told.iter().map(|stuck| stuck.status).collect();
    assert_eq!(told, [Status::Waiting, Status::Dead]);
    assert_eq!(only_job(&store).await.status, Status::Dead);
}

#[tokio::test(start_paused = true)]
async fn pauses_are_a_fifth_longer_or_shorter_and_never_the_same() {
    let store = MemoryStore::new();
    let script = Script::new([Do::Fail; 300]);
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    for key in 0..300 {
        steps
            .enqueue(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    sleep(Duration::from_secs(20)).await;
    let (calls, times) = (script.calls(), script.times());
    let second_tries = calls.iter().zip(&times).skip(300);
    let mut pauses: Vec<u64> = second_tries
        .filter(|(step, _)| *step == "first")
        .map(|(_, at)| *at)
        .collect();
    assert_eq!(pauses.len(), 300);
    pauses.sort_unstable();
    assert!((8_000..8_300).contains(&pauses[0]), "{}", pauses[0]);
    assert!((9_500..10_500).contains(&pauses[150]), "{}", pauses[150]);
    assert!((11_700..12_100).contains(&pauses[299]), "{}", pauses[299]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_job_is_kept_with_its_history_and_never_tried_again() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 9]));
    let workflow = script.workflow().schedule(schedule(3));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE * 60 * 24).await;
    worker.stop().await;
    let _worker = steps.work();
    sleep(MINUTE).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, script.calls().len()), (Status::Dead, 3));
    let failed = store.history(job.id).await.unwrap();
    let failures: Vec<_> = failed.iter().map(|failed| failed.failures).collect();
    assert_eq!(failures, [1, 2, 3]);
    // Until an operator retries it, with as many tries as a new one.
    assert!(store.retry_now(job.id).await.unwrap());
    sleep(MINUTE).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, script.calls().len()), (Status::Dead, 6));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_sent_is_tried_three_times() {
    for (failures, told) in [(2, 1), (3, 0)] {
        let (store, script) = (MemoryStore::new(), Script::new([Do::End]));
        let workflow = script.workflow();
        let (steps, mail) = with_mailbox(&store, &workflow);
        *mail.failures.lock().unwrap() = failures;
        steps.run(&workflow, "k", &Vec::new()).await.unwrap();
        sleep(MINUTE).await;
        assert_eq!(mail.told.lock().unwrap().len(), told);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_delayed_is_not_old_when_it_is_due() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail]));
    let workflow = script.workflow();
    let (steps, mail) = with_mailbox(&store, &workflow);
    let _worker = steps.work();
    let job = workflow.job("k", &Vec::new()).unwrap();
    let day = MINUTE * 24 * 60;
    store.put(&job.delay(day), None).await.unwrap();
    sleep(day + MINUTE).await;
    assert_eq!(script.calls().len(), 4, "once in vain");
    assert!(mail.told.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_until_a_person_is_notified() {
    for (failures, seconds) in [(0, 1), (2, 12)] {
        let store = MemoryStore::new();
        let script = Script::new([Do::Take(Duration::from_secs(2)), Do::End]);
        let workflow = script.workflow();
        let (steps, mail) = with_mailbox(&store, &workflow);
        *mail.failures.lock().unwrap() = failures;
        let worker = steps.work();
        steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        worker.stop().await;
        assert_eq!(mail.told.lock().unwrap().len(), 1);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
}

struct Deaf;

impl Notifier for Deaf {
    async fn notify(&self, _: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_hangs_does_not_hold_up_a_worker_that_stops() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::End, Do::End]));
    let workflow = script.workflow();
    let steps = builder(&store)
        .workflow(&workflow)
        .notifier(Deaf)
        .build()
        .unwrap();
    let began = Instant::now();
    for (key, seconds) in [("k", 191), ("l", 191 + 5)] {
        let worker = steps.work();
        steps.run(&workflow, key, &Vec::new()).await.unwrap();
        if key == "k" {
            worker.stop().await;
        } else {
            worker.stop_within(Duration::from_secs(5)).await;
        }
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
}

/// Panics this many times, and then notifies a mailbox.
struct Mistaken(AtomicU32, Mailbox);

impl Notifier for Mistaken {
    async fn notify(&self, stuck: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        assert!(self.0.fetch_add(1, Ordering::SeqCst) >= 2, "a mistake");
        self.1.notify(stuck).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_notifier_that_panics_has_failed_and_is_asked_again() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::End]));
    let workflow = script.workflow();
    let mail = Mailbox::default();
    let steps = builder(&store)
        .workflow(&workflow)
        .notifier(Mistaken(AtomicU32::new(0), mail.clone()))
        .build()
        .unwrap();
    steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE).await;
    assert_eq!(mail.told.lock().unwrap().len(), 1);
}
