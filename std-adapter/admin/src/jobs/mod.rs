//! Jobs of durable steps, in any store: read, tried again, cancelled.

mod change;
mod read;

use std::sync::Arc;

use atomic_breaker_steps::{JobId, Status};
use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Operator;
use super::named::Named;
use super::request;
use super::response::{Problem, json};
use super::shown::Shown;
use super::source::{OfSteps, job_counts};

pub(super) const PATHS: [&str; 4] = ["/jobs", "/jobs/counts", "/job", "/jobs/control"];

/// Responds to a request to one of the [`PATHS`].
pub(super) async fn serve(
    shown: &Arc<Shown>,
    operator: &Operator,
    parts: &Parts,
    body: Body,
) -> Result<Response, Problem> {
    match parts.uri.path() {
        "/jobs" => {
            let query: read::Query = request::query(parts)?;
            query.check()?;
            json(&read::list(shown, &query).await?)
        }
        "/jobs/counts" => {
            let query: Of = request::query(parts)?;
            json(&job_counts::read(of(shown, &query.of)?).await?)
        }
        "/job" => {
            let query: One = request::query(parts)?;
            json(&read::one(shown, &query).await?)
        }
        _ => {
            let change = request::change(shown, operator, parts, body).await?;
            let (shown, operator) = (Arc::clone(shown), operator.clone());
            // Run to its end even if the client is gone: the action is logged.
            let done = tokio::spawn(async move { change::obey(&shown, &operator, &change).await });
            // It panicked, or the runtime is shutting down.
            let done = done.await.map_err(|error| {
                let error = format!("it may be done or not: look again: {error}");
                Problem::internal(error)
            });
            json(&done??)
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Of {
    of: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    of: String,
    id: i64,
}

fn status<'de, D: Deserializer<'de>>(name: D) -> Result<Option<Status>, D::Error> {
    let Some(name) = Option::<String>::deserialize(name)? else {
        return Ok(None);
    };
    let error = "status must be waiting, running, done, dead, parked or cancelled";
    let status = Status::of(&name).ok_or_else(|| D::Error::custom(error));
    status.map(Some)
}

/// The steps with this name.
fn of<'a>(shown: &'a Shown, name: &str) -> Result<&'a Named<OfSteps>, Problem> {
    let found = shown.steps.iter().find(|steps| *steps.name == *name);
    found.ok_or_else(|| {
        Problem::not_found("no steps are shown under this name: the status lists them")
    })
}

fn absent(id: JobId) -> Problem {
    let error =
        format!("there is no job {id}: it was done or cancelled long ago, or never existed");
    Problem::not_found(error)
}
