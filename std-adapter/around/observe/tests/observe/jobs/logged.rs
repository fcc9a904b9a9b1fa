// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that operators must see.

use std::sync::Arc;

use atomic_breaker_observe::Log;
use atomic_breaker_server::{Breaker, Config, ManualClock, Permit, TokioClock};
use atomic_breaker_steps::{
    Asked, JobId, JobObserver, Lane, Ran, Status, StepError, Store, Workflow,
};
use tracing::Level;

use super::{Person, builder, enqueue, pass, run, workflow};
use crate::support::{Logged, SECOND, logged};
use test_support::faulty_store::{Fault, FaultyStore};

/// Fails after a second.
fn workflow_of_one() -> Workflow<String> {
    Workflow::new("call").step("only", "a", async |_: String| {
        pass(SECOND).await;
        Err::<String, _>("refused".into())
    })
}

/// The events about jobs logged by this future, in virtual time.
fn events(what: impl AsyncFnOnce(FaultyStore)) -> Vec<Logged> {
    let all = logged(|| run(async || what(FaultyStore::default()).await));
    let is_ours = |event: &Logged| event.target == "atomic_breaker::steps";
    all.into_iter().filter(is_ours).collect()
}

#[test]
fn a_job_that_is_dead_is_logged_with_what_it_is_and_its_error_in_one_line() {
    let events = events(async |store| {
        let steps = builder(&store, "jobs-log").build().unwrap();
        let worker = steps.work();
        let key = "<i>\u{202e}order\n7".to_owned() + &"x".repeat(200);
        enqueue(&steps, key, "fail").await;
        pass(10 * SECOND).await;
        worker.stop().await;
    });
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(event.level, Level::WARN);
    assert_eq!(event.get("message"), Some("a job is dead"));
    assert_eq!(event.get("error"), Some("refused\\nby <b>them</b>"));
    let fields = ["job", "kind", "lane", "step"].map(|field| event.get(field).unwrap());
    assert_eq!(fields, ["1", "kind", "a", "first"]);
    let key = event.get("key").unwrap();
    assert!(
        key.starts_with("<i>\\u{202e}order\\n7xxx") && key.len() <= 128,
        "{key}"
    );
}

#[test]
fn a_job_that_is_parked_is_logged() {
    let events = events(async |store| {
        let steps = builder(&store, "jobs-log").build().unwrap();
        let of_another = Workflow::new("unknown")
            .step("x", "a", async |state: String| Ok::<_, StepError>(state));
        let job = of_another.job("k", &"go".to_owned()).unwrap();
        store.put(&job, None).await.unwrap();
        let worker = steps.work();
        // Other workers may know it: it is parked after an hour.
        pass(65 * 60 * SECOND).await;
        worker.stop().await;
    });
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(event.get("message"), Some("a job is parked"));
    assert!(
        event
            .get("error")
            .unwrap()
            .contains("no workflow \"unknown\"")
    );
}

#[test]
fn a_thousand_jobs_that_die_at_once_are_few_lines_that_say_how_many_there_were() {
    let events = events(async |store| {
        let steps = builder(&store, "jobs-log").build().unwrap();
        let worker = steps.work();
        for number in 0..1_000 {
            let key = number.to_string();
            enqueue(&steps, key, "end").await;
        }
        pass(60 * SECOND).await;
        enqueue(&steps, "last", "end").await;
        pass(SECOND).await;
        worker.stop().await;
    });
    assert!(events.len() < 100, "{}", events.len());
    let left_out = |event: &Logged| -> usize {
        let count = event.get("events_left_out");
        count.map_or(0, |count| count.parse().unwrap())
    };
    let left_out: usize = events.iter().map(left_out).sum();
    assert_eq!(events.len() + left_out, 1_001, "none is lost");
}

#[test]
fn a_failed_notification_is_logged() {
    let events = events(async |store| {
        let steps = builder(&store, "jobs-log").notifier(Person(false));
        let steps = steps.build().unwrap();
        let ran = steps.run(&workflow(), "k", &"end".to_owned()).await;
        ran.unwrap();
        pass(60 * SECOND).await;
    });
    let [_, event] = &events[..] else {
        panic!("{events:?}");
    };
    let message = "the notification that a job is dead failed";
    assert_eq!(event.get("message"), Some(message));
    assert_eq!(event.get("error"), Some("no mail"));
}

#[test]
fn a_lost_claim_is_logged() {
    let events = events(async |store| {
        let steps = builder(&store, "jobs-log").build().unwrap();
        let worker = steps.work();
        enqueue(&steps, "k", "hang").await;
        pass(SECOND).await;
        assert!(store.cancel(JobId::new(1)).await.unwrap());
        pass(60 * SECOND).await;
        worker.stop().await;
    });
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(
        event
            .get("message")
            .unwrap()
            .starts_with("the claim on a job was lost")
    );
    assert_eq!((event.get("job"), event.get("error")), (Some("1"), None));
}

#[test]
fn a_failing_store_is_logged_each_minute_and_so_is_its_recovery() {
    let events = events(async |store| {
        let steps = builder(&store, "jobs-log").build().unwrap();
        store.set(Some(Fault::Error("connection refused".to_owned())));
        let worker = steps.work();
        pass(150 * SECOND).await;
        store.set(None);
        pass(60 * SECOND).await;
        worker.stop().await;
    });
    let levels: Vec<_> = events.iter().map(|event| event.level).collect();
    assert_eq!(levels, [Level::WARN, Level::WARN, Level::WARN, Level::INFO]);
    assert_eq!(events[0].get("error"), Some("connection refused"));
    assert!(events[0].get("operation").is_some());
    assert!(events[1].get("events_left_out").is_some());
}

#[test]
fn a_lane_whose_steps_are_in_their_own_way_is_logged_once() {
    let events = events(async |store| {
        let lane = Arc::new(Breaker::new(Config::new().open_for(SECOND), TokioClock));
        let within = Arc::clone(&lane);
        let own = Workflow::new("own").step("call", "own", move |state: u32| {
            let called = within.acquire().map(Permit::success);
            async move {
                called?;
                Ok::<_, StepError>(state)
            }
        });
        let steps = builder(&store, "jobs-log")
            .lane(Lane::new("own").guarded(Arc::clone(&lane)))
            .workflow(&own);
        let steps = steps.build().unwrap();
        for key in 0..3 {
            lane.trip();
            pass(SECOND).await;
            let ran = steps.run(&own, key.to_string(), &7).await.unwrap();
            assert_eq!(ran, Ran::Done(7));
        }
    });
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(event.get("message").unwrap().contains("guarded_within"));
    let fields = ["job", "kind", "lane", "step"].map(|field| event.get(field).unwrap());
    assert_eq!(fields, ["1", "own", "own", "call"]);
}

#[test]
fn calls_neither_done_nor_kept_are_logged_if_the_caller_has_gone() {
    let events = events(async |store| {
        let call = workflow_of_one();
        let steps = builder(&store, "jobs-log").workflow(&call).build().unwrap();
        store.set(Some(Fault::Error("connection refused".to_owned())));
        let state = "k".to_owned();
        assert!(steps.call_or_keep(&call, "heard", &state).await.is_err());
        let late = steps.call_or_keep(&call, "unheard", &state);
        assert!(tokio::time::timeout(SECOND / 2, late).await.is_err());
        pass(100 * SECOND).await;
    });
    let unkept: Vec<_> = events
        .iter()
        .filter(|event| event.get("message") != Some("the store of jobs fails"))
        .collect();
    let [event] = &unkept[..] else {
        panic!("{unkept:?}");
    };
    assert_eq!(event.level, Level::WARN);
    assert_eq!(event.get("key"), Some("unheard"));
    assert_eq!(event.get("error"), Some("connection refused"));
}

#[test]
fn after_a_quiet_month_the_next_outage_of_the_store_and_the_next_dead_job_are_logged() {
    static CLOCK: ManualClock = ManualClock::new();
    let log = Log::new("jobs-log").clock(&CLOCK);
    let job = Workflow::new("kind").step("first", "a", async |state: String| Ok(state));
    let events = logged(|| {
        run(async || {
            let store = FaultyStore::default();
            store
                .put(&job.job("k", &String::new()).unwrap(), None)
                .await
                .unwrap();
            let job = store.job(JobId::new(1)).await.unwrap().unwrap();
            for _ in 0..3 {
                log.store_failed(Asked::Claim, "disk full");
                log.store_answered();
                for _ in 0..10 {
                    log.ended(&job, Status::Dead, "refused");
                }
                CLOCK.advance(30 * 24 * 3_600 * SECOND);
            }
        });
    });
    let of = |message: &str| {
        let is = |event: &&Logged| event.get("message") == Some(message);
        events.iter().filter(is).count()
    };
    assert_eq!(of("the store of jobs fails"), 3);
    assert_eq!(of("the store of jobs responds again"), 3);
    assert_eq!(of("a job is dead"), 30);
}
