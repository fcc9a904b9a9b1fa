// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of durable steps over HTTP.
//!
//! | file | what |
//! |---|---|
//! | `read` | lists, pages, search, counts, one job |
//! | `changed` | tried again, cancelled; by whom, and what is refused |
//! | `gone` | stores that fail, hang, or are slow to count |

mod changed;
mod gone;
mod read;

use std::time::Duration;

use atomic_breaker_admin::{Admin, Timeline};
use atomic_breaker_steps::{
    Change, JobId, Lane, NewJob, Put, Save, Status, StepError, Steps, Store, Workflow,
};
use serde_json::Value;

use crate::support::{Answer, App};
use test_support::faulty_store::FaultyStore;

const LEASE: Duration = Duration::from_secs(60);

fn orders() -> Workflow<String> {
    Workflow::new("order").step("invoice", "billing", async |state: String| {
        Ok::<_, StepError>(state)
    })
}

fn letters() -> Workflow<String> {
    Workflow::new("letter").step("send", "mail", async |state: String| {
        Ok::<_, StepError>(state)
    })
}

/// Two kinds of jobs over a store, and an admin that shows them, without a worker.
struct Office {
    store: FaultyStore,
    steps: Steps<FaultyStore>,
}

impl Office {
    fn new() -> Self {
        let store = FaultyStore::default();
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("billing"))
            .lane(Lane::new("mail"))
            .workflow(&orders())
            .workflow(&letters())
            .build()
            .unwrap();
        Self { store, steps }
    }

    fn admin(&self) -> Admin {
        Admin::new(&Timeline::new()).steps("office", &self.steps)
    }

    fn app(&self) -> App {
        App::of(self.admin())
    }

    async fn order(&self, key: &str) -> JobId {
        self.put(&orders().job(key, &"secret".to_owned()).unwrap())
            .await
    }

    async fn put(&self, job: &NewJob) -> JobId {
        match self.store.put(job, None).await.unwrap() {
            Put::New(id, _) => id,
            exists @ Put::Exists(_) => panic!("{exists:?}"),
        }
    }

    /// One that ended so, by this error.
    async fn ended(&self, key: &str, status: Status, error: &str) -> JobId {
        let job = orders().job(key, &"secret".to_owned()).unwrap();
        let put = self.store.put(&job, Some(LEASE)).await.unwrap();
        let Put::New(id, Some(right)) = put else {
            panic!("{put:?}");
        };
        let change = match status {
            Status::Done => Change::done("\"secret\"".to_owned()),
            Status::Parked => Change::parked(error.to_owned()),
            _ => Change::dead(error.to_owned()),
        };
        let saved = self.store.save(&[Save { right, change }]).await.unwrap();
        assert!(saved[0].is_held);
        id
    }

    /// The next one is claimed and given back without a try.
    async fn held_up(&self, is_known: bool) {
        let claimed = self.store.claim("billing", 1, LEASE).await.unwrap();
        let right = claimed.jobs[0].right;
        let change = Change::held_up(Duration::ZERO, is_known, "not admitted".to_owned());
        let saved = self.store.save(&[Save { right, change }]).await.unwrap();
        assert!(saved[0].is_held);
    }

    async fn status(&self, id: JobId) -> Status {
        self.store.jobs.job(id).await.unwrap().unwrap().status
    }
}

impl App {
    async fn jobs(&self, query: &str) -> Value {
        self.get(&format!("/jobs?of=office{query}")).await.json()
    }

    async fn change_job(&self, change: &Value) -> Answer {
        use axum::body::Body;
        use axum::http::Request;
        let request = Request::post("/jobs/control")
            .header("host", "localhost")
            .header("content-type", "application/json");
        self.send(request.body(Body::from(change.to_string())).unwrap())
            .await
    }
}

/// An operator cancels a job with this key.
pub(crate) async fn cancel(key: &str) {
    let office = Office::new();
    let id = office.order(key).await;
    let change = serde_json::json!({ "of": "office", "id": id.get(), "do": "cancel" });
    office.app().change_job(&change).await.json();
}

const SECOND: Duration = Duration::from_secs(1);

/// Time is paused, each answer of the store takes a second, and this would cancel the job.
async fn in_slow_time(office: &Office, key: &str) -> (JobId, Value) {
    let id = office.order(key).await;
    tokio::time::pause();
    office
        .store
        .set(Some(test_support::faulty_store::Fault::Late(SECOND)));
    let change = serde_json::json!({ "of": "office", "id": id.get(), "do": "cancel" });
    (id, change)
}

/// An operator cancels a job with this key, and hangs up before the response.
pub(crate) async fn cancel_and_hang_up(key: &str) {
    let office = Office::new();
    let app = office.app();
    let (id, change) = in_slow_time(&office, key).await;
    // The job is read, it is cancelled, and read again.
    let hung_up = tokio::time::timeout(SECOND * 5 / 2, app.change_job(&change));
    hung_up.await.unwrap_err();
    tokio::time::sleep(SECOND * 10).await;
    tokio::time::resume();
    assert_eq!(office.status(id).await, Status::Cancelled);
}

/// An operator cancels a job with this key, and it is not known whether that was done.
pub(crate) async fn cancel_in_doubt(key: &str) {
    let office = Office::new();
    let app = office.app();
    let (_, change) = in_slow_time(&office, key).await;
    let (answer, ()) = tokio::join!(app.change_job(&change), async {
        tokio::time::sleep(SECOND / 2).await;
        office
            .store
            .set(Some(test_support::faulty_store::Fault::Silence));
    });
    tokio::time::resume();
    assert!(
        answer
            .refused(503)
            .ends_with("it may or may not be done: look again")
    );
}

/// The keys of the jobs that are listed.
fn keys(answer: &Value) -> Vec<&str> {
    let jobs = answer["jobs"].as_array().unwrap();
    jobs.iter()
        .map(|job| job["key"].as_str().unwrap())
        .collect()
}
