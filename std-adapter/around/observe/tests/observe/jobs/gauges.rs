// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of jobs.

use std::time::Duration;

use atomic_breaker_observe::Metrics;
use atomic_breaker_steps::{Change, Save, StepError, Store, Workflow};

use super::{builder, counted_by, enqueue, pass, run};
use crate::support::{Page, SECOND};
use test_support::faulty_store::{Fault, FaultyStore};

const STANDS: [&str; 5] = ["due", "waiting", "running", "parked", "dead"];

#[test]
fn jobs_are_shown_by_lane_and_by_how_they_stand() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-shown").build().unwrap();
        // No worker counts jobs of a lane that is not known here.
        let elsewhere =
            Workflow::new("kind2").step("x", "c", async |state: String| Ok::<_, StepError>(state));
        for (key, delay) in [("1", 0), ("2", 0), ("3", 500)] {
            let job = elsewhere.job(key, &"go".to_owned()).unwrap();
            let job = job.delay(Duration::from_secs(delay));
            store.put(&job, None).await.unwrap();
        }
        let ends = [Change::dead(String::new()), Change::parked(String::new())];
        for (key, change) in ["4", "5"].into_iter().zip(ends) {
            let job = elsewhere.job(key, &"go".to_owned()).unwrap();
            let put = store.put(&job, Some(SECOND)).await.unwrap();
            let atomic_breaker_steps::Put::New(_, Some(right)) = put else {
                panic!("{put:?}");
            };
            store.save(&[Save { right, change }]).await.unwrap();
        }
        pass(60 * SECOND).await;
        let worker = steps.work();
        for key in ["1", "2", "3"] {
            enqueue(&steps, key, "hang").await;
        }
        assert_eq!(
            Page::now().jobs("jobs-shown", "a", "due"),
            None,
            "not known yet"
        );
        pass(15 * SECOND).await;
        let page = Page::now();
        let of = |lane| STANDS.map(|stand| page.jobs("jobs-shown", lane, stand).unwrap());
        assert_eq!(of("a"), [0, 0, 3, 0, 0]);
        assert_eq!(of("b"), [0; 5]);
        assert_eq!(of("other"), [2, 1, 0, 1, 1]);
        let oldest = "circuit_breaker_job_oldest_due{circuit_breaker_name=\"jobs-shown\"} ";
        let oldest = page.0.lines().find_map(|line| line.strip_prefix(oldest));
        let oldest: f64 = oldest.unwrap().parse().unwrap();
        assert!((60.0..76.0).contains(&oldest), "{oldest} s");
        drop(worker);
    });
}

#[test]
fn the_store_is_asked_as_often_as_set_however_many_jobs_there_are() {
    run(async || {
        let store = FaultyStore::default();
        let metrics = Metrics::new("jobs-asked").count_every(60 * SECOND);
        let steps = counted_by(&store, metrics).build().unwrap();
        let worker = steps.work();
        for number in 0..1_000 {
            let key = number.to_string();
            enqueue(&steps, key, "go").await;
            pass(SECOND).await;
        }
        assert_eq!(Page::second().ended("jobs-asked", "kind", "done"), 1_000);
        let asked = store.counted();
        assert!((15..=20).contains(&asked), "{asked} times in 1,000 s");
        worker.stop().await;
        pass(600 * SECOND).await;
        assert_eq!(store.counted(), asked, "no worker runs");
    });
}

#[test]
fn without_gauges_the_store_is_not_queried() {
    run(async || {
        let store = FaultyStore::default();
        let metrics = Metrics::new("jobs-unasked").without_gauges();
        let steps = counted_by(&store, metrics).build().unwrap();
        let _worker = steps.work();
        pass(60 * SECOND).await;
        assert_eq!(store.counted(), 0);
        assert_eq!(Page::now().jobs("jobs-unasked", "a", "due"), None);
    });
}

#[test]
fn when_the_store_is_gone_no_number_is_shown_until_it_is_back() {
    run(async || {
        let store = FaultyStore::default();
        let steps = builder(&store, "jobs-nan").build().unwrap();
        let _worker = steps.work();
        pass(SECOND).await;
        assert_eq!(Page::now().jobs("jobs-nan", "a", "due"), Some(0));
        let gone = Fault::Error("gone".to_owned());
        for fault in [Fault::Panic, gone, Fault::Silence] {
            let is_error = !matches!(fault, Fault::Silence);
            store.set(Some(fault));
            pass(15 * SECOND).await;
            assert_eq!(
                Page::now().jobs("jobs-nan", "a", "due"),
                Some(0),
                "one is missed"
            );
            pass(60 * SECOND).await;
            let page = Page::now().0;
            let unknown = r#"circuit_breaker_jobs{circuit_breaker_name="jobs-nan",circuit_breaker_lane="a",circuit_breaker_status="due"} NaN"#;
            assert!(page.contains(unknown), "{page}");
            let unknown = r#"circuit_breaker_job_oldest_due{circuit_breaker_name="jobs-nan"} NaN"#;
            assert!(page.contains(unknown));
            if is_error {
                store.set(None);
                pass(30 * SECOND).await;
                assert_eq!(Page::now().jobs("jobs-nan", "a", "due"), Some(0));
            }
        }
    });
}
