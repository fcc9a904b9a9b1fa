// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of jobs.

use std::time::Duration;

use atomic_breaker_observe::Metrics;
use atomic_breaker_steps::{Lane, Status, StepError, Steps, Store, Workflow};

use super::{Person, builder, enqueue, pass, run, workflow};
use crate::support::{Page, SECOND};
use test_support::faulty_store::{Fault, FaultyStore};

const MINUTE: Duration = Duration::from_secs(60);
const TRIES: [&str; 5] = ["success", "failure", "rejected", "lapsed", "given_back"];
const OPERATIONS: [&str; 7] = [
    "put", "claim", "renew", "save", "unpark", "forget", "counts",
];

#[test]
fn every_counter_is_there_at_zero_before_anything_happens() {
    run(async || {
        let _steps = builder(&FaultyStore::default(), "jobs-idle")
            .build()
            .unwrap();
        let page = Page::now();
        for lane in ["a", "b"] {
            assert!(
                TRIES
                    .iter()
                    .all(|how| page.tries("jobs-idle", lane, how) == 0)
            );
            let lost = [("kind", "kind"), ("lane", lane)];
            assert_eq!(page.get("job_lost", "jobs-idle", &lost), Some(0));
        }
        for lane in ["a", "b", "other"] {
            let lapsed = [("kind", "other"), ("lane", lane), ("outcome", "lapsed")];
            assert_eq!(page.get("job_tries", "jobs-idle", &lapsed), Some(0));
            assert_eq!(page.get("job_lost", "jobs-idle", &lapsed[..2]), Some(0));
        }
        for kind in ["kind", "other"] {
            for status in ["done", "dead", "parked"] {
                assert_eq!(page.ended("jobs-idle", kind, status), 0);
            }
            for outcome in ["success", "failure"] {
                let labels = [("kind", kind), ("outcome", outcome)];
                assert_eq!(page.get("job_told", "jobs-idle", &labels), Some(0));
            }
        }
        for operation in OPERATIONS {
            let labels = [("operation", operation)];
            let errors = page.get("job_store_errors", "jobs-idle", &labels);
            assert_eq!(errors, Some(0), "{operation}");
        }
    });
}

#[test]
fn tries_are_counted_by_lane_and_by_how_they_ended_and_jobs_by_their_end() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-tried").build().unwrap();
        let worker = steps.work();
        for (key, state) in [("1", "go"), ("2", "go"), ("3", "fail"), ("4", "end")] {
            enqueue(&steps, key, state).await;
        }
        pass(MINUTE).await;
        worker.stop().await;
        let page = Page::second();
        let first = TRIES.map(|how| page.tries("jobs-tried", "a", how));
        assert_eq!(first, [2, 3, 0, 0, 0], "one of two tries, one of one");
        let second = TRIES.map(|how| page.tries("jobs-tried", "b", how));
        assert_eq!(second, [2, 0, 0, 0, 0]);
        let ends = ["done", "dead", "parked"].map(|end| page.ended("jobs-tried", "kind", end));
        assert_eq!(ends, [2, 2, 0]);
    });
}

#[test]
fn a_job_that_is_run_at_once_is_counted_as_well() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-at-once").build().unwrap();
        steps.run(&workflow(), "k", &"go".to_owned()).await.unwrap();
        let page = Page::second();
        assert_eq!(page.tries("jobs-at-once", "b", "success"), 1);
        assert_eq!(page.ended("jobs-at-once", "kind", "done"), 1);
    });
}

#[test]
fn a_rejection_is_no_failure_and_a_step_that_is_given_back_neither() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-back").build().unwrap();
        let worker = steps.work();
        enqueue(&steps, "1", "reject").await;
        enqueue(&steps, "2", "hang").await;
        pass(SECOND / 2).await;
        worker.stop_within(Duration::ZERO).await;
        let page = Page::now();
        assert!(page.tries("jobs-back", "a", "rejected") >= 1);
        assert_eq!(page.tries("jobs-back", "a", "given_back"), 1);
        assert_eq!(page.tries("jobs-back", "a", "failure"), 0);
    });
}

#[test]
fn a_worker_that_died_is_one_try_and_a_claim_that_is_gone_is_lost() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-lost").build().unwrap();
        let id = enqueue(&steps, "1", "go").await;
        // Claimed by a worker that dies.
        store.jobs.claim("a", 9, MINUTE).await.unwrap();
        let worker = steps.work();
        pass(MINUTE + 5 * SECOND).await;
        let page = Page::now();
        assert_eq!(page.tries("jobs-lost", "a", "lapsed"), 1);
        assert_eq!(
            store.jobs.job(id).await.unwrap().unwrap().status,
            Status::Done
        );
        let labels = [("kind", "kind"), ("lane", "a")];
        assert_eq!(page.get("job_lost", "jobs-lost", &labels), Some(0));

        let id = enqueue(&steps, "2", "hang").await;
        pass(SECOND).await;
        assert!(store.jobs.cancel(id).await.unwrap());
        pass(MINUTE).await;
        assert_eq!(Page::now().get("job_lost", "jobs-lost", &labels), Some(1));
        worker.stop().await;
    });
}

#[test]
fn kinds_that_are_not_known_here_are_counted_as_other() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-other").build().unwrap();
        let of_another =
            Workflow::new("of\nanother program")
                .step("x", "a", async |state: String| Ok::<_, StepError>(state));
        let job = of_another.job("k", &"go".to_owned()).unwrap();
        store.put(&job, None).await.unwrap();
        let worker = steps.work();
        // Other workers may know it: it is parked after an hour.
        pass(65 * 60 * SECOND).await;
        worker.stop().await;
        let page = Page::second();
        assert_eq!(page.ended("jobs-other", "other", "parked"), 1);
        assert!(!page.0.contains("another program"));
    });
}

#[test]
fn successful_and_failed_notifications_are_counted() {
    run(async || {
        for (name, can_be_told, expected) in [
            ("jobs-told", true, [Some(1), Some(0)]),
            ("jobs-untold", false, [Some(0), Some(1)]),
        ] {
            let store = FaultyStore::default();
            let steps = builder(&store, name).notifier(Person(can_be_told));
            let steps = steps.build().unwrap();
            let ran = steps.run(&workflow(), "k", &"end".to_owned()).await;
            ran.unwrap();
            pass(MINUTE).await;
            let page = Page::now();
            let told = ["success", "failure"].map(|outcome| {
                let labels = [("kind", "kind"), ("outcome", outcome)];
                page.get("job_told", name, &labels)
            });
            assert_eq!(told, expected, "{name}");
        }
    });
}

#[test]
fn errors_of_the_store_are_counted_by_what_was_asked() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-gone").build().unwrap();
        store.set(Some(Fault::Error("connection refused".to_owned())));
        let worker = steps.work();
        let put = steps.enqueue(&workflow(), "k", &"go".to_owned()).await;
        put.unwrap_err();
        pass(MINUTE).await;
        drop(worker);
        let page = Page::now();
        let errors = |operation| {
            let labels = [("operation", operation)];
            page.get("job_store_errors", "jobs-gone", &labels).unwrap()
        };
        assert_eq!(
            (errors("put"), errors("unpark"), errors("renew")),
            (1, 1, 0)
        );
        assert!(errors("claim") > 2 && errors("counts") > 2);
    });
}

#[test]
fn steps_of_the_same_name_are_counted_together_and_go_on_where_others_ended() {
    run(async || {
        for _ in 0..3 {
            let store = FaultyStore::default();
            let steps = builder(&store, "jobs-together").build().unwrap();
            steps.run(&workflow(), "k", &"go".to_owned()).await.unwrap();
        }
        assert_eq!(Page::second().ended("jobs-together", "kind", "done"), 3);
    });
}

#[test]
fn an_invalid_interval_is_an_error_that_says_what_to_do() {
    run(async || {
        for every in [Duration::ZERO, SECOND / 2, MINUTE * 60 * 25, Duration::MAX] {
            let steps = Steps::builder(FaultyStore::default())
                .lane(Lane::new("a"))
                .observer(Metrics::new("jobs-wrong").count_every(every));
            let error = steps.build().unwrap_err().to_string();
            assert!(error.contains("1 s to a day"), "{error}");
        }
    });
}
