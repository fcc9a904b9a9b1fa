// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores that panic or hang.

use std::time::Duration;

use atomic_breaker_steps::{MemoryStore, Ran, Status, Store};
use tokio::time::{Instant, sleep};

use super::support::{Do, Script, builder, done, only_job};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_has_failed_and_is_asked_again() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Take(30 * SECOND)]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    store.next(Asked::Claim, 6, Fault::Panic);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(25 * SECOND).await;
    assert_eq!(script.calls(), ["first"]);
    store.next(Asked::Save, 6, Fault::Panic);
    sleep(60 * SECOND).await;
    assert_eq!(only_job(&memory).await.status, Status::Done);
    assert_eq!(script.calls(), done(), "each once");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn polled_seldom_a_store_that_failed_is_asked_again_no_later() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let (memory, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    // Each time twice, because there are two lanes.
    store.next(Asked::Claim, 10, Fault::Panic);
    let steps = builder(&store)
        .workflow(&workflow)
        .poll(HOUR)
        .build()
        .unwrap();
    let _worker = steps.work();
    sleep(SECOND).await;
    let job = workflow.job("k", &Vec::new()).unwrap();
    memory.put(&job, None).await.unwrap();
    sleep(7 * HOUR).await;
    assert_eq!(script.calls(), done());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_is_asked_less_and_less_often() {
    let workflow = Script::new([]).workflow();
    let store = FaultyStore::default();
    store.set(Some(Fault::Error("no disk".to_owned())));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    sleep(300 * SECOND).await;
    let asked = store.asked();
    let claims = asked.iter().filter(|it| **it == Asked::Claim).count();
    // Of each of two lanes: after 1 s, 2 s and so on up to 30 s, a fifth more or less.
    assert!((20..=36).contains(&claims), "{claims}");
}

/// A pause that would end with the lease is not waited for.
#[tokio::test(start_paused = true)]
async fn a_result_is_saved_again_less_and_less_often_within_its_lease() {
    let (memory, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    store.next(Asked::Save, u32::MAX, Fault::Error("no disk".to_owned()));
    let lease = Duration::from_millis(100 + 200 + 400 + 800);
    let steps = builder(&store).workflow(&workflow).lease(lease);
    let steps = steps.build().unwrap();
    let began = Instant::now();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    assert_eq!(began.elapsed(), Duration::from_millis(100 + 200 + 400));
    assert_eq!(
        store.asked(),
        [vec![Asked::Put], vec![Asked::Save; 4]].concat()
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewal_without_an_answer_is_repeated_within_the_lease() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Take(200 * SECOND)]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    store.next(Asked::Renew, 1, Fault::Silence);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let other = builder(&memory).workflow(&workflow).build().unwrap();
    let _other = other.work();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert_eq!(ran, Ran::Done(done()));
    assert_eq!(script.calls(), done(), "each once");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_not_renewed_in_time_delays_no_step() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Take(25 * SECOND)]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    store.next(Asked::Renew, u32::MAX, Fault::Silence);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let began = Instant::now();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert_eq!(ran, Ran::Done(done()));
    assert_eq!(began.elapsed(), 25 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn steps_that_must_go_do_not_wait_for_a_lease_to_be_renewed() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Hang]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    store.next(Asked::Renew, u32::MAX, Fault::Silence);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(21 * SECOND).await;
    let began = Instant::now();
    worker.stop_within(SECOND).await;
    assert_eq!(began.elapsed(), SECOND);
    let job = only_job(&memory).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
}

#[tokio::test(start_paused = true)]
async fn of_results_that_come_at_once_a_refused_one_is_saved_alone() {
    let (memory, script) = (MemoryStore::new(), Script::new([Do::Take(SECOND); 5]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    for key in 0..5 {
        let id = steps.enqueue(&workflow, key.to_string(), &Vec::new()).await;
        store.refuse(id.unwrap());
    }
    let _worker = steps.work();
    sleep(2 * SECOND).await;
    let counts = memory.counts().await.unwrap();
    let (done, running) = (counts.of(Status::Done), counts.of(Status::Running));
    assert_eq!((done, running), (4, 1), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_save_that_the_store_refuses_does_not_keep_the_others() {
    let (memory, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let refused = steps.enqueue(&workflow, "refused", &Vec::new()).await;
    let refused = refused.unwrap();
    store.refuse(refused);
    let _worker = steps.work();
    sleep(SECOND).await;
    let began = Instant::now();
    for key in 0..20 {
        let ran = steps.run(&workflow, key.to_string(), &Vec::new()).await;
        assert_eq!(ran.unwrap(), Ran::Done(done()));
        sleep(SECOND).await;
    }
    let took = began.elapsed();
    assert!(took < 22 * SECOND, "{took:?}");
    let job = memory.job(refused).await.unwrap().unwrap();
    assert_eq!(job.status, Status::Running);
    // When its lease is over, another worker may claim it.
    sleep(60 * SECOND).await;
    let job = memory.job(refused).await.unwrap().unwrap();
    assert!(job.due_in_ms > 0, "{job:?}");
}
