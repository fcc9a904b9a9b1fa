// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes and their breakers.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Outcome, State, TokioClock};
use atomic_breaker_server::{Observer, Rejected, Transition};
use atomic_breaker_steps::{Lane, MemoryStore, Ran, Status, StepError, Steps, Store, Workflow};
use tokio::time::sleep;

use super::support::{Do, Script, only_job, schedule};

type Shared = Arc<Breaker<TokioClock>>;

fn breaker(config: Config) -> Shared {
    Arc::new(Breaker::new(config, TokioClock))
}

fn steps(
    store: &MemoryStore,
    script: &Script,
    lane: Lane,
) -> (Steps<MemoryStore>, Workflow<Vec<String>>) {
    let workflow = script.workflow().schedule(schedule(20));
    let steps = Steps::builder(store.clone())
        .lane(lane)
        .lane(Lane::new("b"))
        .workflow(&workflow)
        .build();
    (steps.unwrap(), workflow)
}

#[tokio::test(start_paused = true)]
async fn an_open_lane_is_not_charged_and_goes_on_when_it_admits() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let a = breaker(Config::new().open_for(Duration::from_secs(3_600)));
    a.trip();
    let (steps, workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }));
    sleep(Duration::from_secs(3_500)).await;
    assert!(script.calls().is_empty());
    sleep(Duration::from_secs(102)).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Done, 0));
    assert!(store.history(job.id).await.unwrap().is_empty());
    assert_eq!(a.state(), State::Closed, "a step is a probe");
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_an_operator_resets_goes_on_at_once() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let a = breaker(Config::new());
    a.force_open();
    let (steps, workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(Duration::from_secs(3_600)).await;
    assert!(script.calls().is_empty());
    a.release();
    a.reset();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn failed_steps_open_the_breaker_and_others_are_not_tried() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail; 5]));
    let rules = Config::new()
        .consecutive_failures(5)
        .open_for(Duration::from_secs(600));
    let a = breaker(rules);
    let lane = Lane::new("a").at_once(1).guarded(Arc::clone(&a));
    let (steps, workflow) = steps(&store, &script, lane);
    let _worker = steps.work();
    for key in 0..100 {
        steps
            .enqueue(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    sleep(Duration::from_secs(590)).await;
    assert_eq!(script.calls().len(), 5);
    assert_eq!(a.state(), State::Open);
    sleep(Duration::from_secs(60)).await;
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.of(Status::Done), 100, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn half_open_no_more_steps_run_than_there_are_probes() {
    let (store, script) = (
        MemoryStore::new(),
        Script::new([Do::Take(Duration::from_secs(30)); 9]),
    );
    let rules = Config::new()
        .open_for(Duration::from_secs(10))
        .probes(2)
        .close_after(2);
    let a = breaker(rules);
    a.trip();
    let (steps, workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    for key in 0..50 {
        steps
            .enqueue(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    sleep(Duration::from_secs(25)).await;
    assert_eq!(script.calls().len(), 2);
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.of(Status::Running), 2, "{counts:?}");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(a.state(), State::Closed);
    assert!(script.calls().len() > 50);
}

#[tokio::test(start_paused = true)]
async fn a_lane_whose_breaker_returns_gradually_drains_gradually() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let rules = Config::new()
        .open_for(Duration::from_secs(10))
        .gradual_return(10, Duration::from_secs(60));
    let a = breaker(rules);
    a.trip();
    let (steps, workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    for key in 0..10_000 {
        steps
            .enqueue(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    sleep(Duration::from_secs(20)).await;
    let early = store.counts().await.unwrap().of(Status::Done);
    assert!((1..1_000).contains(&early), "{early}");
    sleep(Duration::from_secs(70)).await;
    assert_eq!(store.counts().await.unwrap().of(Status::Done), 10_000);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_ends_a_job_is_not_the_resources_fault() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::End; 50]));
    let a = breaker(Config::new().consecutive_failures(5));
    let (steps, workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    for key in 0..50 {
        steps
            .run(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    assert_eq!(a.state(), State::Closed);
    assert_eq!(script.calls().len(), 50);
}

#[tokio::test(start_paused = true)]
async fn no_more_steps_of_a_lane_run_at_once_than_may() {
    let (store, script) = (
        MemoryStore::new(),
        Script::new([Do::Take(Duration::from_secs(30)); 99]),
    );
    let (steps, workflow) = steps(&store, &script, Lane::new("a").at_once(3));
    let _worker = steps.work();
    for key in 0..20 {
        steps
            .enqueue(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    sleep(Duration::from_secs(20)).await;
    assert_eq!(script.calls().len(), 3);
    let ran = steps.run(&workflow, "one more", &Vec::new()).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }));
    assert_eq!(script.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_lane_runs_its_jobs_in_the_order_in_which_they_came() {
    let store = MemoryStore::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let ran = Arc::clone(&order);
    let step = move |number: u32| {
        let ran = Arc::clone(&ran);
        async move {
            ran.lock().unwrap().push(number);
            sleep(Duration::from_secs(1)).await;
            Ok::<_, StepError>(number)
        }
    };
    let workflow = Workflow::new("kind").step("only", "a", step);
    let all: Vec<_> = (0..4)
        .map(|_| {
            let steps = Steps::builder(store.clone()).lane(Lane::new("a").at_once(1));
            steps.workflow(&workflow).build().unwrap()
        })
        .collect();
    // The keys do not reveal the order.
    for number in 0..200_u32 {
        let key = number.reverse_bits().to_string();
        all[0].enqueue(&workflow, key, &number).await.unwrap();
        sleep(Duration::from_millis(1)).await;
    }
    let _workers: Vec<_> = all.iter().map(Steps::work).collect();
    sleep(Duration::from_secs(200)).await;
    let order = order.lock().unwrap();
    assert!(order.len() == 200 && order.is_sorted(), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_permit_without_a_job_is_released_silently() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let a = breaker(Config::new().open_for(Duration::from_secs(10)));
    a.trip();
    let (steps, _workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    sleep(Duration::from_secs(100)).await;
    assert!(a.acquire().is_ok(), "{:?}", a.snapshot());
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_in_the_only_room_of_its_lane() {
    let store = MemoryStore::new();
    let workflow = Workflow::new("kind")
        .step("first", "a", async |n: u32| Ok(n + 1))
        .step("second", "a", async |n: u32| Ok(n + 1));
    let steps = Steps::builder(store)
        .lane(Lane::new("a").at_once(1))
        .workflow(&workflow)
        .build()
        .unwrap();
    let _worker = steps.work();
    // A worker waits for that room.
    sleep(Duration::from_secs(1)).await;
    let ran = steps.run(&workflow, "k", &0).await.unwrap();
    assert_eq!(ran, Ran::Done(2));
}

/// Panics when a step is reported, and once when an open breaker admits a probe.
#[derive(Default)]
struct Mistaken(AtomicBool);

impl Observer for Mistaken {
    fn transition(&self, transition: &Transition) {
        let is_probe = transition.to == State::HalfOpen;
        assert!(
            !is_probe || self.0.swap(true, Ordering::SeqCst),
            "a mistake"
        );
    }

    fn outcome(&self, _: Outcome) {
        panic!("a mistake");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_ends_neither_its_lane_nor_a_step() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let rules = Config::new().open_for(Duration::from_secs(5));
    let a = Breaker::builder(rules, TokioClock).observer(Mistaken::default());
    let a = Arc::new(a.build());
    a.trip();
    let (steps, workflow) = steps(&store, &script, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, a.state()), (Status::Done, State::Closed));
    assert!(store.history(job.id).await.unwrap().is_empty());
}

/// Calls that were ignored, and rejected.
#[derive(Clone, Default)]
struct Asks(Arc<[AtomicU32; 2]>);

impl Observer for Asks {
    fn outcome(&self, outcome: Outcome) {
        let is_ignored = outcome == Outcome::Ignored;
        self.0[0].fetch_add(u32::from(is_ignored), Ordering::SeqCst);
    }

    fn rejected(&self, _: Rejected) {
        self.0[1].fetch_add(1, Ordering::SeqCst);
    }
}

/// As the pages on observability and the runbook say.
#[tokio::test(start_paused = true)]
async fn the_asks_of_a_lane_count_as_calls_of_its_breaker() {
    for is_within in [false, true] {
        let asks = Asks::default();
        let rules = Config::new().open_for(Duration::from_secs(3_600));
        let a = Breaker::builder(rules, TokioClock).observer(asks.clone());
        let a = Arc::new(a.build());
        let lane = Lane::new("a").at_once(1);
        let lane = if is_within {
            lane.guarded_within(Arc::clone(&a))
        } else {
            lane.guarded(Arc::clone(&a))
        };
        let store = MemoryStore::new();
        let workflow = Workflow::new("kind").step("only", "a", async |n: u32| Ok(n));
        let steps = Steps::builder(store.clone()).lane(lane).workflow(&workflow);
        let steps = steps.build().unwrap();
        for key in 0..100_u32 {
            steps
                .enqueue(&workflow, key.to_string(), &key)
                .await
                .unwrap();
        }
        let _worker = steps.work();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(store.counts().await.unwrap().of(Status::Done), 100);
        let count = |of: usize| asks.0[of].load(Ordering::SeqCst);
        // One claim finds no more jobs.
        assert_eq!(count(0), if is_within { 201 } else { 101 });
        a.trip();
        steps.enqueue(&workflow, "late", &0).await.unwrap();
        sleep(Duration::from_secs(600)).await;
        assert!((540..680).contains(&count(1)), "{}", count(1));
    }
}
