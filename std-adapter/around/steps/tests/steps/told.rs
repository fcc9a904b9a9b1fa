// SPDX-License-Identifier: MIT OR Apache-2.0
//! The notices to a person: that a job is late, that it has ended, and anew if it begins anew.

use std::time::Duration;

use atomic_breaker_steps::{MemoryStore, Put, Ran, Status, StepError, Steps, Store, Workflow};
use tokio::time::sleep;

use super::support::{Do, Mailbox, Script, builder, only_job, schedule, with_mailbox};

const MINUTE: Duration = Duration::from_secs(60);

/// The statuses of which a person was told.
fn told(mail: &Mailbox) -> Vec<Status> {
    let told = mail.told.lock().unwrap();
    told.iter().map(|stuck| stuck.status).collect()
}

fn late(tries: u32) -> atomic_breaker_steps::Schedule {
    schedule(tries).tell_after(Duration::ZERO)
}

#[tokio::test(start_paused = true)]
async fn a_person_told_that_a_job_is_late_is_told_that_it_is_dead() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 9]));
    let workflow = script.workflow().schedule(late(3));
    let (steps, mail) = with_mailbox(&store, &workflow);
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE).await;
    assert_eq!(told(&mail), [Status::Waiting, Status::Dead]);
    // Tried again, it is late and dead once more.
    assert!(store.retry_now(id).await.unwrap());
    sleep(MINUTE).await;
    assert_eq!(told(&mail)[2..], [Status::Waiting, Status::Dead]);
    assert_eq!(script.calls().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_notifier_leaves_a_delay_to_another() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 9]));
    let workflow = script.workflow().schedule(late(9));
    let mute = builder(&store).workflow(&workflow).build().unwrap();
    let ran = mute.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    assert!(!only_job(&store).await.is_told);
    let (steps, mail) = with_mailbox(&store, &workflow);
    let _worker = steps.work();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(told(&mail), [Status::Waiting]);
    assert!(only_job(&store).await.is_told);
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_job_is_told_of_once_and_anew_when_it_is_tried() {
    let (store, mail) = (MemoryStore::new(), Mailbox::default());
    let text = Workflow::new("kind").step("first", "a", async |text: String| Ok(text));
    let job = text.job("k", &"text".to_owned()).unwrap();
    let Put::New(id, None) = store.put(&job, None).await.unwrap() else {
        panic!("not new");
    };
    let number = Workflow::new("kind").step("first", "a", async |n: u32| Ok::<_, StepError>(n));
    let steps = builder(&store).workflow(&number).notifier(mail.clone());
    let worker = steps.build().unwrap().work();
    sleep(48 * 60 * MINUTE).await;
    assert_eq!(told(&mail), [Status::Parked]);
    assert!(store.job(id).await.unwrap().unwrap().is_told);
    worker.stop().await;
    // A release that can read it takes it up, and it fails.
    let fails = text.clone().schedule(schedule(2));
    let fails =
        Workflow::new(fails.kind())
            .schedule(schedule(2))
            .step("first", "a", async |_: String| Err("refused".into()));
    let steps = builder(&store).workflow(&fails).notifier(mail.clone());
    let _worker = steps.build().unwrap().work();
    sleep(30 * MINUTE).await;
    assert_eq!(told(&mail)[1..], [Status::Waiting, Status::Dead]);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_is_due_until_another_takes_it_up() {
    let store = MemoryStore::new();
    let workflow = Workflow::new("kind").step("only", "a", async |n: u32| Ok::<_, StepError>(n));
    let steps: Steps<MemoryStore> = builder(&store).workflow(&workflow).build().unwrap();
    steps.enqueue(&workflow, "k", &7).await.unwrap();
    store.claim("a", 1, MINUTE).await.unwrap();
    sleep(MINUTE / 2).await;
    assert_eq!(store.counts().await.unwrap().oldest_due, None);
    sleep(168 * 60 * MINUTE).await;
    let counts = store.counts().await.unwrap();
    assert!(counts.oldest_due > Some(167 * 60 * MINUTE), "{counts:?}");
    assert_eq!(counts.due, [("a".to_owned(), 1)]);
    let _worker = steps.work();
    sleep(MINUTE).await;
    assert_eq!(store.counts().await.unwrap().oldest_due, None);
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_tried_again_is_as_old_as_before() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 9]));
    let workflow = script.workflow().schedule(schedule(2));
    let (steps, mail) = with_mailbox(&store, &workflow);
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(61 * MINUTE).await;
    assert_eq!(told(&mail), [Status::Dead]);
    assert!(store.retry_now(id).await.unwrap());
    sleep(MINUTE).await;
    assert_eq!(told(&mail)[1..], [Status::Waiting, Status::Dead]);
}
