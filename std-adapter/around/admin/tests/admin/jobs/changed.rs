// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tried again, cancelled; by whom, and what is refused.

use std::time::Duration;

use atomic_breaker_admin::Operator;
use atomic_breaker_steps::{JobId, Status, Store};
use axum::Extension;
use futures_util::future::join_all;
use serde_json::json;

use super::{LEASE, Office};
use crate::requests::{JSON, send};
use crate::support::App;

#[tokio::test]
async fn a_dead_job_is_tried_again() {
    let office = Office::new();
    let id = office.ended("k", Status::Dead, "gone").await;
    let change =
        json!({ "of": "office", "id": id.to_string(), "do": "retry-now", "status": "dead" });
    let answer = office.app().change_job(&change).await.json();
    assert_eq!(
        (
            &answer["changed"],
            &answer["job"]["status"],
            &answer["job"]["failures"]
        ),
        (&json!(true), &json!("waiting"), &json!(0))
    );
    assert!(
        answer["text"]
            .as_str()
            .unwrap()
            .contains("as many tries as a new one")
    );
    assert_eq!(office.status(id).await, Status::Waiting);
}

#[tokio::test(start_paused = true)]
async fn a_worker_in_this_process_runs_a_retried_job_at_once() {
    let office = Office::new();
    let id = office.order("k").await;
    // An hour later, unless an operator says otherwise.
    let right = office.store.claim("billing", 1, LEASE).await.unwrap().jobs[0].right;
    let due_in = Duration::from_secs(3_600);
    let change = atomic_breaker_steps::Change::back(due_in);
    let save = atomic_breaker_steps::Save { right, change };
    office.store.save(&[save]).await.unwrap();
    let _worker = office.steps.work();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let change = json!({ "of": "office", "id": id.get(), "do": "retry-now" });
    office.app().change_job(&change).await.json();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(
        office.status(id).await,
        Status::Done,
        "not by the next poll"
    );
}

#[tokio::test]
async fn a_job_is_cancelled_only_once() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    let change = json!({ "of": "office", "id": id.to_string(), "do": "cancel" });
    let answer = app.change_job(&change).await.json();
    assert_eq!(answer["job"]["status"], "cancelled");
    let error = app.change_job(&change).await.refused(409);
    assert!(error.contains("it is cancelled"), "{error}");
    let retry = json!({ "of": "office", "id": id.to_string(), "do": "retry-now" });
    let error = app.change_job(&retry).await.refused(409);
    assert!(error.contains("waits, is parked or is dead"), "{error}");
    assert_eq!(office.status(id).await, Status::Cancelled);
}

#[tokio::test]
async fn a_job_that_has_changed_since_the_operator_looked_is_left_as_it_is() {
    let office = Office::new();
    let id = office.order("k").await;
    let change = json!({ "of": "office", "id": id.to_string(), "do": "cancel", "status": "dead" });
    let error = office.app().change_job(&change).await.refused(409);
    assert!(error.contains("it is waiting now"), "{error}");
    assert_eq!(office.status(id).await, Status::Waiting);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_simultaneous_cancellations_succeeds() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    let change = json!({ "of": "office", "id": id.to_string(), "do": "cancel" });
    let answers = join_all((0..50).map(|_| app.change_job(&change))).await;
    let done = answers.iter().filter(|answer| answer.status == 200);
    assert_eq!(done.count(), 1);
    let rest = answers.iter().filter(|answer| answer.status == 409);
    assert_eq!(rest.count(), 49);
}

#[tokio::test]
async fn an_invalid_change_is_refused_with_what_is_valid() {
    let office = Office::new();
    let app = office.app();
    office.order("k").await;
    for (change, status, words) in [
        (
            json!({ "of": "office", "id": "1", "do": "delete" }),
            422,
            "retry-now",
        ),
        (json!({ "of": "office", "id": "1" }), 422, "do"),
        (
            json!({ "of": "office", "id": "one", "do": "cancel" }),
            422,
            "the one in the list",
        ),
        (
            json!({ "of": "office", "id": 1.5, "do": "cancel" }),
            422,
            "the one in the list",
        ),
        (
            json!({ "of": "office", "id": "1", "do": "cancel", "status": "due" }),
            422,
            "`waiting`, `running`",
        ),
        (
            json!({ "of": "office", "id": "1", "do": "cancel", "force": true }),
            422,
            "force",
        ),
        (
            json!({ "of": "office", "id": "2", "do": "cancel" }),
            404,
            "no job 2",
        ),
        (
            json!({ "of": "elsewhere", "id": "1", "do": "cancel" }),
            404,
            "the status lists them",
        ),
    ] {
        let error = app.change_job(&change).await.refused(status);
        assert!(error.contains(words), "{change}: {error}");
    }
    assert_eq!(office.status(JobId::new(1)).await, Status::Waiting);
}

const CANCEL: &str = r#"{"of":"office","id":"1","do":"cancel"}"#;

#[tokio::test]
async fn a_viewer_changes_nothing_and_a_stranger_sees_nothing() {
    let office = Office::new();
    let id = office.order("k").await;
    let router = || office.admin().router::<()>().unwrap();
    let host = ("host", "localhost");
    let viewer = App(router().layer(Extension(Operator::viewer("bob"))));
    viewer.jobs("").await;
    let error = send(&viewer, "POST", "/jobs/control", &[host, JSON], CANCEL).await;
    error.refused_with(403, "\"bob\" may look, but not change anything");
    let anonymous = App(router());
    for path in [
        "/jobs?of=office",
        "/jobs/counts?of=office",
        "/job?of=office&id=1",
    ] {
        anonymous.get(path).await.refused_with(403, "Operator");
    }
    let error = send(&anonymous, "POST", "/jobs/control", &[host, JSON], CANCEL).await;
    error.refused_with(403, "Operator");
    assert_eq!(office.status(id).await, Status::Waiting);
}

#[tokio::test]
async fn forms_and_foreign_pages_change_nothing() {
    let office = Office::new();
    let app = office.app();
    let id = office.order("k").await;
    let host = ("host", "localhost");
    for (headers, status) in [
        (&[host, ("content-type", "text/plain")][..], 415),
        (&[host], 415),
        (&[host, JSON, ("origin", "https://evil.example")], 403),
        (&[host, JSON, ("origin", "null")], 403),
        (&[host, JSON, ("sec-fetch-site", "cross-site")], 403),
        (&[("host", "evil.example"), JSON], 403),
    ] {
        let answer = send(&app, "POST", "/jobs/control", headers, CANCEL).await;
        answer.refused(status);
    }
    for path in [
        "/jobs?of=office",
        "/jobs/counts?of=office",
        "/job?of=office&id=1",
    ] {
        let headers = [host, ("sec-fetch-site", "cross-site")];
        send(&app, "GET", path, &headers, "").await.refused(403);
    }
    for (method, path, allow) in [
        ("GET", "/jobs/control", "POST"),
        ("PUT", "/jobs/control", "POST"),
        ("POST", "/jobs?of=office", "GET, HEAD"),
        ("DELETE", "/job?of=office&id=1", "GET, HEAD"),
    ] {
        let answer = send(&app, method, path, &[host, JSON], CANCEL).await;
        answer.refused(405);
        assert_eq!(answer.headers["allow"], allow);
    }
    assert_eq!(office.status(id).await, Status::Waiting);
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let office = Office::new();
    office.order("k").await;
    let change = json!({ "of": "office", "id": "1", "do": "cancel", "status": "x".repeat(17_000) });
    let answer = office.app().change_job(&change).await;
    answer.refused_with(413, "16384");
}
