//! Jobs of durable steps, in any store: read, tried again, cancelled.

mod change;
mod counts;
mod read;
mod source;

pub(super) use source::OfSteps;

use std::sync::Arc;

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::task::JoinError;

use super::Operator;
use super::answer::{Problem, json};
use super::builder::{Named, Shown};
use super::router;
use atomic_breaker_std::steps::JobId;

/// What the status shows of them, without asking their store.
#[derive(Debug, Serialize)]
pub(super) struct Head<'a> {
    name: &'a str,
    kinds: Vec<&'static str>,
    shows_states: bool,
}

impl<'a> Head<'a> {
    pub(super) fn new(steps: &'a Named<OfSteps>) -> Self {
        Self {
            name: &steps.name,
            kinds: steps.it.kinds(),
            shows_states: steps.it.shows_states,
        }
    }
}

const STATUSES: &str = "status must be waiting, running, done, dead, parked or cancelled";

pub(super) const PATHS: [&str; 4] = ["/jobs", "/jobs/counts", "/job", "/jobs/control"];

/// Answers a request to one of the [`PATHS`].
pub(super) async fn serve(
    shown: &Arc<Shown>,
    operator: &Operator,
    request: &Parts,
    body: Body,
) -> Result<Response, Problem> {
    let answer = match request.uri.path() {
        "/jobs" => {
            let query: read::Query = router::query(request)?;
            query.check()?;
            json(StatusCode::OK, &read::list(shown, &query).await?)
        }
        "/jobs/counts" => {
            let query: Of = router::query(request)?;
            let steps = of(shown, &query.of)?;
            json(StatusCode::OK, &counts::read(steps).await?)
        }
        "/job" => {
            let query: One = router::query(request)?;
            json(StatusCode::OK, &read::one(shown, &query).await?)
        }
        _ => {
            router::check_change(shown, operator, request)?;
            let change = change::Request::read(&router::whole(body).await?)?;
            let (shown, operator) = (Arc::clone(shown), operator.clone());
            // Run to its end even if the client is gone: the action is logged.
            let obeyed =
                tokio::spawn(async move { change::obey(&shown, &operator, &change).await });
            json(
                StatusCode::OK,
                &obeyed.await.map_err(|error| broken(&error))??,
            )
        }
    };
    Ok(answer)
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

/// It panicked, or the runtime is shutting down.
fn broken(error: &JoinError) -> Problem {
    let error = format!("it may be done or not: look again: {error}");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error)
}

/// The steps with this name.
fn of<'a>(shown: &'a Shown, name: &str) -> Result<&'a Named<OfSteps>, Problem> {
    let found = shown.steps.iter().find(|steps| *steps.name == *name);
    found.ok_or_else(|| {
        let error = "no steps are shown under this name: the status lists them";
        Problem::new(StatusCode::NOT_FOUND, error)
    })
}

fn absent(id: JobId) -> Problem {
    let error = format!("there is no job {id}: it is done or cancelled for long, or never was");
    Problem::new(StatusCode::NOT_FOUND, error)
}
