// SPDX-License-Identifier: MIT OR Apache-2.0
//! A worker that looks for jobs takes nothing from those who call: neither a probe nor room, however long its store
//! takes.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, State, TokioClock};
use atomic_breaker_server::{Admit, InFlightLimit};
use atomic_breaker_server::{Observer, word::NativeWord};
use atomic_breaker_steps::{
    Filter, Lane, MemoryStore, Ran, Status, StepError, Steps, StepsBuilder, Store, Workflow,
};
use test_support::faulty_store::{Asked, Fault, FaultyStore};
use tokio::time::{Instant, sleep};

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) type Shared = Arc<Breaker<TokioClock>>;

/// The time that the store takes to answer; `None` if it never does.
pub(super) const STORES: [Option<Duration>; 4] = [
    Some(Duration::from_millis(20)),
    Some(Duration::from_secs(2)),
    Some(Duration::from_secs(9)),
    None,
];

pub(super) fn breaker(config: Config) -> Shared {
    Arc::new(Breaker::new(config, TokioClock))
}

pub(super) fn slow(jobs: &MemoryStore, takes: Option<Duration>) -> FaultyStore {
    let store = FaultyStore::to(jobs);
    store.set(Some(takes.map_or(Fault::Silence, Fault::Late)));
    store
}

pub(super) fn lanes<O: Observer + Send + Sync + 'static>(breaker: &Arc<Observed<O>>) -> [Lane; 2] {
    let lane = || Lane::new("a");
    [
        lane().guarded(Arc::clone(breaker)),
        lane().guarded_within(Arc::clone(breaker)),
    ]
}

pub(super) type Observed<O> = Breaker<TokioClock, NativeWord, (), O>;

pub(super) fn workflow() -> Workflow<u32> {
    Workflow::new("kind").step("only", "a", async |n: u32| Ok::<_, StepError>(n))
}

pub(super) fn of(
    store: FaultyStore,
    lane: Lane,
    workflow: &Workflow<u32>,
) -> StepsBuilder<FaultyStore> {
    Steps::builder(store).lane(lane).workflow(workflow)
}

/// Until a call that is made directly is admitted.
pub(super) async fn served_after(breaker: &Shared) -> Duration {
    let began = Instant::now();
    loop {
        if let Ok(permit) = breaker.acquire() {
            permit.success();
            return began.elapsed();
        }
        sleep(SECOND / 100).await;
    }
}

pub(super) const OPEN: Config = Config::new().open_for(Duration::from_secs(3));

#[tokio::test(start_paused = true)]
async fn a_lane_without_jobs_takes_no_probe() {
    for takes in STORES {
        for at in 0..2 {
            let a = breaker(OPEN.probes(1));
            let lane = lanes(&a).into_iter().nth(at).unwrap();
            let store = slow(&MemoryStore::new(), takes);
            let _worker = of(store, lane, &workflow()).build().unwrap().work();
            // The first call comes at once, or when the worker may have looked before it.
            for pause in (0..60).map(|tenths| tenths * SECOND / 10) {
                a.trip();
                sleep(pause).await;
                let served = pause + served_after(&a).await;
                assert!(
                    served <= pause.max(3 * SECOND),
                    "{takes:?}, {at}: {served:?}"
                );
                assert_eq!(a.state(), State::Closed);
            }
            a.trip();
            sleep(60 * SECOND).await;
            let entered = a.snapshot().entered();
            assert_eq!(entered, State::Open, "no breaker is asked without a job");
        }
    }
}

/// Steps take a second.
fn lasting() -> Workflow<u32> {
    Workflow::new("kind").step("only", "a", async |n: u32| {
        sleep(SECOND).await;
        Ok::<_, StepError>(n)
    })
}

pub(super) async fn keep(jobs: &MemoryStore, workflow: &Workflow<u32>, many: u32) {
    for key in 0..many {
        let job = workflow.job(key.to_string(), &key).unwrap();
        jobs.put(&job, None).await.unwrap();
    }
}

/// All jobs are done, and none of them was charged a try.
async fn all_done(jobs: &MemoryStore) {
    for job in jobs.list(&Filter::default(), u32::MAX).await.unwrap() {
        assert_eq!((job.status, job.failures), (Status::Done, 0), "{job:?}");
        let history = jobs.history(job.id).await.unwrap();
        assert!(history.is_empty(), "{history:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_claim_of_a_job_holds_no_probe() {
    let pauses = (30..80).map(|tenths| tenths * SECOND / 10);
    let stores = STORES
        .into_iter()
        .flat_map(|takes| pauses.clone().map(move |pause| (takes, pause)));
    for (takes, pause) in stores {
        for at in 0..2 {
            let (a, jobs, workflow) = (breaker(OPEN), MemoryStore::new(), workflow());
            let lane = lanes(&a).into_iter().nth(at).unwrap();
            keep(&jobs, &workflow, 3).await;
            a.trip();
            let store = slow(&jobs, takes);
            let _worker = of(store.clone(), lane, &workflow).build().unwrap().work();
            sleep(pause).await;
            let served = served_after(&a).await;
            assert!(
                served <= SECOND / 50,
                "{takes:?}, {at}, {pause:?}: {served:?}"
            );
            if takes.is_some() {
                sleep(300 * SECOND).await;
                all_done(&jobs).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_is_the_probe_after_a_slow_claim_if_there_are_no_calls() {
    for takes in [20, 2_000, 9_000].map(Duration::from_millis) {
        for at in 0..2 {
            let (a, jobs, workflow) = (breaker(OPEN), MemoryStore::new(), workflow());
            let within = Arc::clone(&a);
            let workflow = if at == 0 {
                workflow
            } else {
                Workflow::new("kind").step("only", "a", move |n: u32| {
                    let within = Arc::clone(&within);
                    async move {
                        within.call(|| Ok::<_, std::io::Error>(()))?;
                        Ok(n)
                    }
                })
            };
            let lane = lanes(&a).into_iter().nth(at).unwrap();
            keep(&jobs, &workflow, 3).await;
            a.trip();
            let store = slow(&jobs, Some(takes));
            let _worker = of(store, lane, &workflow).build().unwrap().work();
            sleep(3 * SECOND + takes * 3 + SECOND * 2).await;
            assert_eq!(a.state(), State::Closed, "{takes:?}, {at}");
            sleep(60 * SECOND).await;
            all_done(&jobs).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn half_open_no_more_jobs_are_claimed_than_there_are_probes() {
    for probes in [1, 3] {
        for takes in [20, 2_000].map(Duration::from_millis) {
            let rules = OPEN.probes(probes).close_after(probes);
            let (a, jobs, workflow) = (breaker(rules), MemoryStore::new(), lasting());
            keep(&jobs, &workflow, 50).await;
            a.trip();
            let store = slow(&jobs, Some(takes));
            let lane = Lane::new("a").guarded(Arc::clone(&a));
            let _worker = of(store, lane, &workflow).build().unwrap().work();
            let mut most = 0;
            while a.state() != State::Closed {
                let counts = jobs.counts().await.unwrap();
                most = most.max(counts.of(Status::Running));
                sleep(SECOND / 100).await;
            }
            assert_eq!(most, u64::from(probes));
            sleep(600 * SECOND).await;
            all_done(&jobs).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_lane_with_jobs_does_not_ask_its_store() {
    let rules = Config::new().open_for(3_600 * SECOND);
    let (a, jobs, workflow) = (breaker(rules), MemoryStore::new(), workflow());
    keep(&jobs, &workflow, 50).await;
    a.trip();
    let store = FaultyStore::to(&jobs);
    let lane = Lane::new("a").guarded(Arc::clone(&a));
    let _worker = of(store.clone(), lane, &workflow).build().unwrap().work();
    sleep(3_500 * SECOND).await;
    let looked = |of| store.asked().iter().filter(|each| **each == of).count();
    assert_eq!((looked(Asked::NextDue), looked(Asked::Claim)), (1, 0));
    assert_eq!(looked(Asked::Save), 0);
    sleep(200 * SECOND).await;
    all_done(&jobs).await;
}

/// Calls come all the time, and take the only probe wherever they can.
#[tokio::test(start_paused = true)]
async fn a_job_starves_neither_calls_nor_itself() {
    for takes in [20, 2_000].map(Duration::from_millis) {
        let (a, jobs, workflow) = (breaker(OPEN), MemoryStore::new(), lasting());
        keep(&jobs, &workflow, 20).await;
        let store = slow(&jobs, Some(takes));
        let lane = Lane::new("a").guarded(Arc::clone(&a));
        let _worker = of(store.clone(), lane, &workflow).build().unwrap().work();
        for _ in 0..10 {
            a.trip();
            let served = served_after(&a).await;
            assert!(served <= 4 * SECOND, "{takes:?}: {served:?}");
            sleep(SECOND).await;
        }
        sleep(600 * SECOND).await;
        all_done(&jobs).await;
        // What is given back costs a write: no more than there were meetings.
        let saves = store.asked();
        let saves = saves.iter().filter(|each| **each == Asked::Save).count();
        assert!(saves <= 60, "{saves}");
    }
}

#[tokio::test(start_paused = true)]
async fn while_traffic_returns_claimed_jobs_wait_for_their_share() {
    for takes in [20, 2_000].map(Duration::from_millis) {
        let rules = OPEN.gradual_return(10, 60 * SECOND);
        let (a, jobs, workflow) = (breaker(rules), MemoryStore::new(), workflow());
        keep(&jobs, &workflow, 1_000).await;
        a.trip();
        let store = slow(&jobs, Some(takes));
        let lane = Lane::new("a").guarded(Arc::clone(&a));
        let _worker = of(store.clone(), lane, &workflow).build().unwrap().work();
        sleep(200 * SECOND).await;
        sleep(takes * 200).await;
        all_done(&jobs).await;
        let claims = store.asked();
        let claims = claims.iter().filter(|each| **each == Asked::Claim).count();
        assert!(claims < 1_100, "{claims}");
    }
}

/// The job of a caller is kept before it runs, and between two steps: nothing is held meanwhile.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_being_kept_or_saved_holds_no_probe() {
    for fault in [Asked::Put, Asked::Save] {
        let a = breaker(OPEN);
        let workflow = Workflow::new("kind")
            .step("first", "b", async |n: u32| Ok::<_, StepError>(n))
            .step("second", "a", async |n: u32| Ok(n));
        let workflow = if fault == Asked::Put {
            self::workflow()
        } else {
            workflow
        };
        let (jobs, [lane, _]) = (MemoryStore::new(), lanes(&a));
        let store = FaultyStore::to(&jobs);
        store.next(fault, 1, Fault::Late(20 * SECOND));
        let steps = of(store, lane, &workflow).lane(Lane::new("b")).build();
        let steps = steps.unwrap();
        a.trip();
        sleep(3 * SECOND).await;
        let run = tokio::spawn(async move { steps.run(&workflow, "k", &7).await.unwrap() });
        sleep(SECOND).await;
        assert_eq!(served_after(&a).await, Duration::ZERO, "{fault:?}");
        assert_eq!(run.await.unwrap(), Ran::Done(7));
        all_done(&jobs).await;
    }
}

/// The lane is shut when the job is kept, so it waits after all.
#[tokio::test(start_paused = true)]
async fn a_job_whose_lane_shuts_while_it_is_being_kept_is_given_back() {
    let (a, jobs, workflow) = (breaker(OPEN), MemoryStore::new(), workflow());
    let store = FaultyStore::to(&jobs);
    store.next(Asked::Put, 1, Fault::Late(20 * SECOND));
    let lane = Lane::new("a").guarded(Arc::clone(&a));
    let steps = of(store, lane, &workflow).build().unwrap();
    let run = tokio::spawn({
        let (steps, workflow) = (steps.clone(), workflow.clone());
        async move { steps.run(&workflow, "k", &7).await.unwrap() }
    });
    let began = Instant::now();
    sleep(SECOND).await;
    a.trip_for(60 * SECOND);
    assert!(matches!(run.await.unwrap(), Ran::Later { .. }));
    assert_eq!(began.elapsed(), 20 * SECOND);
    let counts = jobs.counts().await.unwrap();
    assert_eq!(counts.of(Status::Waiting), 1, "{counts:?}");
    let _worker = steps.work();
    sleep(60 * SECOND).await;
    all_done(&jobs).await;
}

/// A store that never answers is asked again after a lease, and its failure is reported.
#[tokio::test(start_paused = true)]
async fn a_claim_without_an_answer_ends_with_its_lease() {
    let (jobs, workflow) = (MemoryStore::new(), workflow());
    keep(&jobs, &workflow, 3).await;
    let store = FaultyStore::to(&jobs);
    store.next(Asked::Claim, 1, Fault::Silence);
    let lane = Lane::new("a");
    let _worker = of(store, lane, &workflow).build().unwrap().work();
    sleep(62 * SECOND).await;
    all_done(&jobs).await;
}

/// Fewer steps than the limit run, and as many more could as the lane has places.
#[tokio::test(start_paused = true)]
async fn a_look_for_jobs_counts_as_no_calls_in_flight() {
    for (limit, calls) in [(1, 0), (10, 0), (10, 9), (17, 16)] {
        let (a, jobs, workflow) = (breaker(OPEN), MemoryStore::new(), workflow());
        let limited = Arc::new(InFlightLimit::new(Arc::clone(&a), limit).tripping());
        let lane = Lane::new("a").guarded(Arc::clone(&limited));
        let store = slow(&jobs, STORES[0]);
        let _worker = of(store, lane, &workflow).build().unwrap().work();
        let calls: Vec<_> = (0..calls).map(|_| limited.admit(&()).unwrap()).collect();
        keep(&jobs, &workflow, 1).await;
        sleep(10 * SECOND).await;
        assert_eq!(a.state(), State::Closed, "{limit}, {}", calls.len());
        all_done(&jobs).await;
    }
}
