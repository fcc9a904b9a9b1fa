// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists, pages, search, counts, one job.

use std::time::{Duration, Instant};

use atomic_breaker_admin::{Admin, Timeline};
use atomic_breaker_steps::{MemoryStore, Status, Steps, Store};
use serde_json::{Value, json};

use super::{LEASE, Office, keys, letters};
use crate::support::{App, assert_has};

#[tokio::test(start_paused = true)]
async fn jobs_are_listed_with_their_present_state() {
    let office = Office::new();
    office.order("order-7").await;
    let later = letters().job("ann", &String::new()).unwrap();
    office.put(&later.delay(LEASE)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let answer = office.app().jobs("").await;
    assert_eq!(
        answer,
        json!({ "next_after": null, "jobs": [
            {
                "id": "1", "kind": "order", "key": "order-7", "step": "invoice", "lane": "billing",
                "status": "waiting", "failures": 0, "due_in_ms": -2_000, "age_ms": 2_000, "is_told": false,
                "held_up_count": 0, "held_up_ms": 0, "unknown_ms": 0, "state_bytes": 8,
            },
            {
                "id": "2", "kind": "letter", "key": "ann", "step": "send", "lane": "mail",
                "status": "waiting", "failures": 0, "due_in_ms": 58_000, "age_ms": 0, "is_told": false,
                "held_up_count": 0, "held_up_ms": 0, "unknown_ms": 0, "state_bytes": 2,
            },
        ] })
    );
}

/// Held up first by a worker that does not know its step, then by a breaker within its step.
#[tokio::test(start_paused = true)]
async fn a_held_up_job_says_how_often_for_how_long_and_by_what() {
    let office = Office::new();
    let id = office.order("order-7").await;
    let app = office.app();
    let held_up = async || {
        let one = app.get(&format!("/job?of=office&id={id}")).await.json();
        let listed = app.jobs("&status=waiting").await["jobs"][0].clone();
        let of = |job: &Value| {
            ["held_up_count", "held_up_ms", "unknown_ms"].map(|it| job[it].as_u64().unwrap())
        };
        assert_eq!(of(&one), of(&listed));
        assert_eq!(one["failures"], 0);
        of(&one)
    };
    office.held_up(false).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(held_up().await, [1, 3_000, 3_000]);
    office.held_up(true).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(held_up().await, [2, 5_000, 0]);
    let change = json!({ "of": "office", "id": id.get(), "do": "retry-now" });
    let after = app.change_job(&change).await.json();
    assert_eq!(after["job"]["held_up_count"], 0);
    assert_eq!(held_up().await, [0, 0, 0], "it is tried at once");
}

#[tokio::test]
async fn jobs_are_read_page_by_page_and_by_status_and_kind() {
    let office = Office::new();
    let app = office.app();
    for number in 0..5 {
        office.order(&number.to_string()).await;
    }
    office.ended("dead", Status::Dead, "gone").await;
    let letter = letters().job("letter", &String::new()).unwrap();
    office.put(&letter).await;
    let first = app.jobs("&limit=3").await;
    assert_eq!(keys(&first), ["0", "1", "2"]);
    let after = first["next_after"].as_str().unwrap();
    let second = app.jobs(&format!("&limit=3&after={after}")).await;
    assert_eq!(keys(&second), ["3", "4", "dead"]);
    let after = second["next_after"].as_str().unwrap();
    let third = app.jobs(&format!("&limit=3&after={after}")).await;
    assert_eq!(
        (keys(&third), &third["next_after"]),
        (vec!["letter"], &Value::Null)
    );
    for last in [i64::MAX - 1, i64::MAX] {
        let page = app.jobs(&format!("&after={last}")).await;
        assert!(keys(&page).is_empty(), "{page}");
    }
    assert_eq!(keys(&app.jobs("&after=-1&limit=1").await), ["0"]);
    assert_eq!(keys(&app.jobs("&status=dead").await), ["dead"]);
    assert_eq!(keys(&app.jobs("&kind=letter").await), ["letter"]);
    assert!(keys(&app.jobs("&kind=letter&status=dead").await).is_empty());
}

#[tokio::test]
async fn a_job_is_found_by_its_whole_key_and_by_its_number() {
    let office = Office::new();
    let app = office.app();
    office.order("7").await;
    office.order("order 8 & <9>").await;
    let letter = letters().job("7", &String::new()).unwrap();
    office.put(&letter).await;
    let found = app.jobs("&search=7").await;
    assert_eq!(keys(&found), ["7", "7"], "of each kind");
    assert_eq!(keys(&app.jobs("&search=7&kind=letter").await), ["7"]);
    let found = app.jobs("&search=order%208%20%26%20%3C9%3E").await;
    assert_eq!(keys(&found), ["order 8 & <9>"]);
    assert_eq!(keys(&app.jobs("&search=2").await), ["order 8 & <9>"]);
    assert_eq!(keys(&app.jobs("&search=1").await), ["7"]);
    for nothing in ["order", "9", "-1", "99999999999999999999", "%00"] {
        let found = app.jobs(&format!("&search={nothing}")).await;
        assert!(keys(&found).is_empty(), "{nothing}: {found}");
    }
    assert!(keys(&app.jobs("&search=1&status=dead").await).is_empty());
}

#[tokio::test(start_paused = true)]
async fn jobs_are_counted_by_status_and_lane_with_the_oldest_due() {
    let office = Office::new();
    office.order("1").await;
    office.ended("2", Status::Dead, "gone").await;
    office.ended("3", Status::Done, "").await;
    let later = letters().job("ann", &String::new()).unwrap();
    office.put(&later.delay(LEASE)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let counts = office.app().get("/jobs/counts?of=office").await.json();
    assert_has(&counts, &json!({ "due": 1, "oldest_due_ms": 3_000 }));
    let of = |status: &str| {
        let all = counts["statuses"].as_array().unwrap();
        let of = all.iter().find(|of| of["status"] == status).unwrap();
        of["count"].as_u64().unwrap()
    };
    let all = Status::ALL.map(|status| of(status.name()));
    assert_eq!(all, [2, 0, 1, 1, 0, 0]);
    assert_eq!(counts["lanes"][0]["lane"], "billing");
    assert_eq!(counts["lanes"][0]["due"], 1);
    assert_has(&counts["lanes"][1], &json!({ "waiting": 1, "due": 0 }));
}

#[tokio::test]
async fn one_job_has_its_history_and_the_size_of_its_state() {
    let office = Office::new();
    let long = "<script>alert(1)</script>\n\u{202e}".to_owned() + &"é".repeat(3_000);
    let id = office.ended("dead", Status::Dead, &long).await;
    let job = office.app().get(&format!("/job?of=office&id={id}")).await;
    assert!(!job.body.contains("secret"));
    let job = job.json();
    assert_has(&job, &json!({ "status": "dead", "state_bytes": 8 }));
    let history = job["history"].as_array().unwrap();
    assert_eq!((history.len(), &job["history_count"]), (1, &json!(1)));
    let error = history[0]["error"].as_str().unwrap();
    assert!(error.len() <= 4_096 && error.starts_with("<script>alert(1)</script>\n\u{202e}é"));
    assert_has(&history[0], &json!({ "step": "invoice", "failures": 1 }));
}

#[tokio::test]
async fn states_are_bounded_and_shown_only_where_the_service_says_so() {
    let office = Office::new();
    let admin = Admin::new(&Timeline::new())
        .steps("without", &office.steps)
        .steps_with_states("with", &office.steps);
    let app = App::of(admin);
    let short = office.order("short").await;
    let long = super::orders().job("long", &"é".repeat(100_000)).unwrap();
    let long = office.put(&long).await;
    let shown = app.get(&format!("/job?of=with&id={short}")).await.json();
    assert_eq!(shown["state"], "\"secret\"");
    let shown = app.get(&format!("/job?of=with&id={long}")).await.json();
    let state = shown["state"].as_str().unwrap();
    assert!(
        state.len() <= 16 * 1_024 && state.ends_with('…'),
        "{}",
        state.len()
    );
    assert_eq!(shown["state_bytes"], 200_002);
    for (of, status) in [("with", true), ("without", false)] {
        let list = app.get(&format!("/jobs?of={of}")).await;
        assert!(!list.body.contains("secret"), "no list has states");
        let heads = app.get("/status").await.json()["steps"].clone();
        let head = heads
            .as_array()
            .unwrap()
            .iter()
            .find(|head| head["name"] == of);
        assert_eq!(head.unwrap()["shows_states"], status);
    }
    let hidden = app.get(&format!("/job?of=without&id={short}")).await;
    assert!(!hidden.body.contains("secret"));
}

#[tokio::test]
async fn the_last_hundred_failures_of_a_long_history_are_shown() {
    let office = Office::new();
    let id = office.order("k").await;
    for number in 0..150 {
        let claimed = office.store.claim("billing", 1, LEASE).await.unwrap();
        let right = claimed.jobs[0].right;
        let error = format!("error {number}");
        let change = atomic_breaker_steps::Change::again(Duration::ZERO, error);
        let save = atomic_breaker_steps::Save { right, change };
        office.store.save(&[save]).await.unwrap();
    }
    let job = office
        .app()
        .get(&format!("/job?of=office&id={id}"))
        .await
        .json();
    let history = job["history"].as_array().unwrap();
    assert_eq!((history.len(), &job["history_count"]), (100, &json!(150)));
    assert_eq!(history[0]["error"], "error 50");
    assert_eq!(history[99]["error"], "error 149");
}

#[tokio::test]
async fn steps_over_several_stores_are_shown_side_by_side() {
    let office = Office::new();
    office.order("here").await;
    let other = Steps::builder(MemoryStore::new()).build().unwrap();
    let app = App::of(office.admin().steps("other", &other));
    assert_eq!(keys(&app.jobs("").await), ["here"]);
    let none = app.get("/jobs?of=other").await.json();
    assert!(keys(&none).is_empty());
    let names: Vec<_> = app.get("/status").await.json()["steps"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(names[0]["kinds"], json!(["letter", "order"]));
    assert_has(&names[1], &json!({ "name": "other", "kinds": [] }));
    let twice = office.admin().steps("office", &other).router::<()>();
    assert!(
        twice
            .unwrap_err()
            .to_string()
            .contains("\"office\" is given twice")
    );
}

#[tokio::test]
async fn an_invalid_query_is_refused_with_what_is_valid() {
    let office = Office::new();
    let app = office.app();
    for (path, status, words) in [
        ("/jobs?of=nothing", 404, "the status lists them"),
        ("/jobs", 400, "of"),
        ("/jobs?of=office&limit=0", 400, "from 1 to 100"),
        ("/jobs?of=office&limit=101", 400, "from 1 to 100"),
        ("/jobs?of=office&status=open", 400, "`waiting`, `running`"),
        ("/jobs?of=office&after=x", 400, "after"),
        ("/jobs?of=office&offset=3", 400, "offset"),
        ("/jobs/counts?of=nothing", 404, "the status lists them"),
        ("/job?of=office&id=99", 404, "no job 99"),
        ("/job?of=office&id=x", 400, "id"),
        ("/job?of=office", 400, "id"),
        ("/jobs/nothing?of=office", 404, "jobs/counts"),
    ] {
        let error = app.get(path).await.refused(status);
        assert!(error.contains(words), "{path}: {error}");
    }
    let long = "x".repeat(256);
    let error = app.get(&format!("/jobs?of=office&search={long}")).await;
    error.refused_with(400, "255 bytes");
}

/// The bound is generous, as other programs may run; what was measured is printed.
#[tokio::test]
async fn ten_thousand_jobs_are_read_a_hundred_at_a_time() {
    let office = Office::new();
    let app = office.app();
    for number in 0..10_000 {
        office.order(&format!("order-{number:05}")).await;
    }
    let started = Instant::now();
    let mut path = "/jobs?of=office".to_owned();
    let (mut pages, mut jobs) = (0, 0);
    loop {
        let page = app.get(&path).await.json();
        pages += 1;
        jobs += keys(&page).len();
        assert!(keys(&page).len() <= 100);
        let Some(after) = page["next_after"].as_str() else {
            break;
        };
        path = format!("/jobs?of=office&after={after}");
    }
    assert_eq!((pages, jobs), (101, 10_000), "the last page is empty");
    let took = started.elapsed();
    println!("figure: 10,000 jobs in {pages} pages: {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}
