// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workers of an older and of a newer release side by side: the older one runs no state that it would write back in part.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use atomic_breaker_steps::{JobError, MemoryStore, NewJob, Status, StepError, Store, Workflow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::support::{builder, only_job};
use test_support::stores::releases;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn in_a_rolling_deploy_the_older_release_loses_nothing() {
    releases::the_older_loses_nothing(&MemoryStore::new(), SECOND).await;
}

/// The state after a worker of this type has had the job, and a line of its history if it gave it back.
async fn after<S>(stored: &str) -> Result<String, String>
where
    S: Serialize + DeserializeOwned + Send + 'static,
{
    let store = MemoryStore::new();
    let workflow = Workflow::new("kind").step("only", "a", async |it: S| Ok::<_, StepError>(it));
    let other = Workflow::new("kind").step("only", "a", async |it: u32| Ok::<_, StepError>(it));
    let mut job: NewJob = other.job("k", &0).unwrap();
    stored.clone_into(&mut job.state);
    store.put(&job, None).await.unwrap();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    sleep(SECOND * 10).await;
    let job = only_job(&store).await;
    match job.status {
        Status::Done => return Ok(job.state),
        status => assert_eq!((status, job.failures), (Status::Waiting, 0)),
    }
    assert!(job.held_up.times > 0, "{job:?}");
    assert_eq!(job.state, stored, "it is as it was");
    // The line that is written when it is parked at last.
    sleep(SECOND * 4_000).await;
    let history = store.history(job.id).await.unwrap();
    Err(history.last().unwrap().error.clone())
}

#[derive(Serialize, Deserialize)]
struct Line {
    item: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "by")]
enum Sent {
    Mail {
        to: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
struct Order {
    lines: Vec<Line>,
    #[serde(default)]
    by_day: BTreeMap<String, Line>,
    #[serde(flatten)]
    sent: Sent,
    #[serde(default)]
    tags: HashSet<u32>,
}

#[tokio::test(start_paused = true)]
async fn a_name_that_the_type_does_not_write_back_is_found_wherever_it_is() {
    let whole = r#"{"lines":[{"item":"a"}],"by_day":{},"by":"Mail","to":"x","tags":[1,2,3,4,5]}"#;
    after::<Order>(whole).await.unwrap();
    for (from, to, name) in [
        ("\"lines\"", "\"paid\":0,\"lines\"", "paid"),
        (
            "{\"item\":\"a\"}",
            "{\"item\":\"a\"},{\"item\":\"b\",\"net\":[]}",
            "net",
        ),
        ("{}", "{\"1/~2\":{\"item\":\"a\",\"net~/\":0}}", "net~/"),
        ("\"x\"", "\"x\",\"copy\":false", "copy"),
        ("\"by\":\"Mail\",\"to\":\"x\"", "\"by\":\"Letter\"", "by"),
    ] {
        let stored = whole.replacen(from, to, 1);
        assert_ne!(stored, whole);
        let why = after::<Order>(&stored).await.unwrap_err();
        let says = format!("the state has {name:?}, which this release does not know");
        assert!(why.contains(&says), "{stored}: {why}");
    }
}

#[derive(Serialize, Deserialize)]
struct Moved {
    #[serde(alias = "old_name")]
    name: String,
    #[serde(default = "three", skip_serializing_if = "is_three")]
    tries: u32,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "no longer used")]
    dropped: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default)]
    share: f32,
    #[serde(default)]
    more: Vec<u32>,
}

fn three() -> u32 {
    3
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_three(tries: &u32) -> bool {
    *tries == 3
}

#[tokio::test(start_paused = true)]
async fn what_is_written_otherwise_or_dropped_knowingly_is_no_loss() {
    let read = [
        r#"{"old_name":"a"}"#,
        r#"{"name":"a","tries":3}"#,
        r#"{"name":"a","dropped":"of the release before"}"#,
        r#"{"name":"a","note":null,"of_another":null}"#,
        r#"{"name":"a","share":0.1}"#,
        r#"{ "more": [1], "share": 1, "name": "a" }"#,
    ];
    for stored in read {
        let written = after::<Moved>(stored).await;
        assert!(
            written.is_ok_and(|it| it.contains("\"name\":\"a\"")),
            "{stored}"
        );
    }
    // As of a type that knows one text only.
    assert_eq!(
        after::<Sent>(r#"{"by":"Unknown"}"#).await.unwrap(),
        r#"{"by":"Unknown"}"#
    );
}

/// Does not read what it writes.
#[derive(Serialize, Deserialize)]
struct Forgetful {
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
}

#[tokio::test(start_paused = true)]
async fn a_state_that_its_own_type_would_lose_is_refused_where_it_is_written() {
    let trace = || Some("t".to_owned());
    let workflow = Workflow::new("kind").step("only", "a", move |_: Forgetful| async move {
        Ok::<_, StepError>(Forgetful { trace: trace() })
    });
    let error = workflow
        .job("k", &Forgetful { trace: trace() })
        .unwrap_err();
    assert!(
        matches!(&error, JobError::Lost(name) if name == "trace"),
        "{error}"
    );
    let store = MemoryStore::new();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    let kept = steps.enqueue(&workflow, "k", &Forgetful { trace: None });
    let id = kept.await.unwrap();
    sleep(SECOND).await;
    assert_eq!(only_job(&store).await.status, Status::Dead);
    let why = store.history(id).await.unwrap().pop().unwrap().error;
    assert!(why.contains("would lose \"trace\""), "{why}");
}

#[cfg(feature = "http")]
#[tokio::test(start_paused = true)]
async fn a_kept_request_of_a_newer_release_is_not_sent_without_its_new_parts() {
    use atomic_breaker_steps::requests::KeptRequest;

    let request = r#"{"method":"POST","uri":"https://pay.example/","headers":[["x","y"]],"body":"b","mark":"0f"}"#;
    after::<KeptRequest>(request).await.unwrap();
    let stored = request.replace("\"mark\"", "\"trailers\":[[\"a\",\"b\"]],\"mark\"");
    let why = after::<KeptRequest>(&stored).await.unwrap_err();
    assert!(why.contains("\"trailers\""), "{why}");
    let stored = request.replace("\"b\"", "{\"base64\":\"Yg==\"}");
    after::<KeptRequest>(&stored).await.unwrap();
}
