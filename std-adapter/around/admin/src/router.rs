// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a request to its response.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::any;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;

#[cfg(feature = "steps")]
use super::jobs;
use super::response::{Problem, json};
use super::{Admin, AdminError, Operator, control, events, gate, history, page, status};

impl Admin {
    /// The router, to be nested with `nest_service` (`nest` leaves the path with a trailing slash to others).
    ///
    /// # Errors
    /// [`AdminError`] says what is wrong with the settings, and how to fix it.
    pub fn router<S>(mut self) -> Result<Router<S>, AdminError>
    where
        S: Clone + Send + Sync + 'static,
    {
        self.check()?;
        let admin = Arc::new(self);
        let answer = move |request: Request| {
            let admin = Arc::clone(&admin);
            async move {
                let served = serve(admin, request).await;
                served.unwrap_or_else(Problem::into_response)
            }
        };
        // Routes as well as a fallback: a `route_layer` reaches them.
        Ok(Router::new()
            .route("/", any(answer.clone()))
            .route("/{*path}", any(answer.clone()))
            .fallback(answer))
    }
}

async fn serve(admin: Arc<Admin>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let operator = admin.gate.admit(&parts)?;
    match parts.uri.path() {
        "" | "/" => {
            gate::visit(&parts)?;
            Ok(page::response(parts.uri.query()))
        }
        "/status" => look(admin, operator, query(&parts)?, status::read).await,
        "/timeline" => look(admin, operator, query(&parts)?, history::read).await,
        "/rules" => look(admin, operator, query(&parts)?, status::rules).await,
        "/events" => {
            gate::read(&parts)?;
            events::stream(&admin, &parts)
        }
        "/control" => {
            let asked = change(&admin, &operator, &parts, body).await?;
            let turns = Arc::clone(&admin.commands);
            beside(turns, admin, operator, asked, control::obey).await
        }
        #[cfg(feature = "steps")]
        "/jobs" => {
            let asked: jobs::JobsQuery = query(&parts)?;
            json(&admin.steps_of(&asked.of)?.list(asked).await?)
        }
        #[cfg(feature = "steps")]
        "/jobs/counts" => {
            let asked: jobs::CountsQuery = query(&parts)?;
            json(&admin.steps_of(&asked.of)?.counts().await?)
        }
        #[cfg(feature = "steps")]
        "/job" => {
            let asked: jobs::JobQuery = query(&parts)?;
            json(&admin.steps_of(&asked.of)?.one(asked.id).await?)
        }
        #[cfg(feature = "steps")]
        "/jobs/control" => {
            let asked: jobs::JobRequest = change(&admin, &operator, &parts, body).await?;
            // Run to its end even if the client is gone: the action is logged.
            let done = tokio::spawn(async move {
                let steps = admin.steps_of(&asked.of)?;
                steps.obey(&operator, &asked).await
            });
            // It panicked, or the runtime is shutting down.
            let error = |error| format!("it may or may not be done, look again: {error}");
            json(&done.await.map_err(|it| Problem::internal(error(it)))??)
        }
        _ => Err(Problem::not_found(
            "there is no such path: GET status, timeline, rules and events, POST control; of steps GET jobs, \
             jobs/counts and job, POST jobs/control",
        )),
    }
}

/// The query of a read that is not a visit of the page.
fn query<T: DeserializeOwned>(parts: &Parts) -> Result<T, Problem> {
    gate::read(parts)?;
    let query = Query::try_from_uri(&parts.uri);
    let Query(query) = query.map_err(|error| Problem::bad_request(error.body_text()))?;
    Ok(query)
}

/// The most bytes of a change, and how long they may take to arrive.
const BODY: usize = 16 * 1_024;
const BODY_TIME: Duration = Duration::from_secs(10);

/// Makes a change, if this operator may make it.
async fn change<T: DeserializeOwned>(
    admin: &Admin,
    operator: &Operator,
    parts: &Parts,
    body: Body,
) -> Result<T, Problem> {
    admin.gate.change(parts)?;
    if !operator.may_change() {
        let name = operator.name();
        let error = format!("{name:?} may look, but not change anything");
        return Err(Problem::forbidden(error));
    }
    let body = timeout(BODY_TIME, to_bytes(body, BODY)).await;
    let late = |_| {
        Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body took longer than 10 s",
        )
    };
    let long = |_| {
        let error = "the body was cut off, or is longer than 16384 bytes";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error)
    };
    let body = body.map_err(late)?.map_err(long)?;
    serde_json::from_slice(&body).map_err(|error| Problem::unprocessable(error.to_string()))
}

/// A read or change, run on a thread that may block.
type Work<Q, A> = fn(&Admin, &Operator, &Q) -> Result<A, Problem>;

/// Looks at keys on a thread that may block, as there may be many. Only a few at a time, so that a client that asks
/// again and again takes no more than that from the service.
async fn look<Q: Send + 'static, A: Serialize + 'static>(
    admin: Arc<Admin>,
    operator: Operator,
    query: Q,
    read: Work<Q, A>,
) -> Result<Response, Problem> {
    beside(Arc::clone(&admin.readers), admin, operator, query, read).await
}

/// Takes a turn, which ends when the work is done, even if the client is gone.
async fn beside<Q: Send + 'static, A: Serialize + 'static>(
    turns: Arc<Semaphore>,
    admin: Arc<Admin>,
    operator: Operator,
    asked: Q,
    work: Work<Q, A>,
) -> Result<Response, Problem> {
    let turn = turns.acquire_owned().await;
    let done = tokio::task::spawn_blocking(move || {
        let response = work(&admin, &operator, &asked).and_then(|it| json(&it));
        drop(turn);
        response
    });
    done.await.unwrap_or_else(|error| {
        let error = format!("it failed within the service, look again: {error}");
        Err(Problem::internal(error))
    })
}
