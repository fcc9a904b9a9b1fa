//! From a path to its handler.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::request::Parts;
use axum::http::{Method, Request, StatusCode, Uri};
use axum::response::Response;
use axum::routing::any;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Operator;
use super::answer::{Problem, json};
use super::builder::Shown;
use super::gate::{self, Gate};
#[cfg(feature = "steps")]
use super::jobs;
use super::status::RulesOf;
use super::{control, events, history, page, status};

/// The most bytes of a change, and how long they may take to arrive.
const BODY: usize = 16 * 1_024;
const BODY_TIME: Duration = Duration::from_secs(10);

const READ: &[Method] = &[Method::GET, Method::HEAD];
const CHANGE: &[Method] = &[Method::POST];

pub(super) fn router<S: Clone + Send + Sync + 'static>(shown: Arc<Shown>) -> Router<S> {
    let answer = move |request: Request<Body>| {
        let shown = Arc::clone(&shown);
        async move {
            let (parts, body) = request.into_parts();
            match serve(shown, &parts, body).await {
                Ok(response) => response,
                Err(problem) => problem.into_response(),
            }
        }
    };
    // Routes as well as a fallback: a `route_layer` reaches them.
    Router::new()
        .route("/", any(answer.clone()))
        .route("/{*path}", any(answer.clone()))
        .fallback(answer)
}

async fn serve(shown: Arc<Shown>, request: &Parts, body: Body) -> Result<Response, Problem> {
    let operator = shown.gate.admit(request)?;
    match request.uri.path() {
        "" | "/" => {
            gate::method(request, READ)?;
            Ok(page::answer(request.uri.query()))
        }
        "/status" => {
            let query: status::Query = query(request)?;
            query.check()?;
            let read =
                move |shown: &Shown| json(StatusCode::OK, &status::read(shown, &query, &operator));
            look(shown, read).await
        }
        "/timeline" => {
            let query: history::Query = query(request)?;
            query.check()?;
            look(shown, move |shown| {
                json(StatusCode::OK, &history::read(shown, &query))
            })
            .await
        }
        "/rules" => {
            let asked: Asked = query(request)?;
            look(shown, move |shown| asked.rules(shown)).await
        }
        "/events" => {
            gate::method(request, READ)?;
            Gate::same_site(request)?;
            events::stream(&shown, request)
        }
        "/control" => {
            check_change(&shown, &operator, request)?;
            let request = control::Request::read(&whole(body).await?)?;
            let turns = Arc::clone(&shown.commands);
            beside(turns, shown, move |shown| {
                match control::obey(shown, &operator, &request) {
                    Ok(answer) => json(StatusCode::OK, &answer),
                    Err(problem) => problem.into_response(),
                }
            })
            .await
        }
        #[cfg(feature = "steps")]
        path if jobs::PATHS.contains(&path) => jobs::serve(&shown, &operator, request, body).await,
        _ => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "there is no such path: GET status, timeline, rules and events, POST control; of steps GET jobs, \
             jobs/counts and job, POST jobs/control",
        )),
    }
}

/// Whether a request may change something.
pub(super) fn check_change(
    shown: &Shown,
    operator: &Operator,
    request: &Parts,
) -> Result<(), Problem> {
    gate::method(request, CHANGE)?;
    shown.gate.change(request)?;
    if operator.may_change() {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        format!("{:?} may look and change nothing", operator.name()),
    ))
}

/// The query of a read that is not a visit of the page.
pub(super) fn query<T: DeserializeOwned>(request: &Parts) -> Result<T, Problem> {
    gate::method(request, READ)?;
    Gate::same_site(request)?;
    of_uri(&request.uri).map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.body_text()))
}

fn of_uri<T: DeserializeOwned>(uri: &Uri) -> Result<T, QueryRejection> {
    Query::try_from_uri(uri).map(|Query(query)| query)
}

pub(super) async fn whole(body: Body) -> Result<axum::body::Bytes, Problem> {
    match timeout(BODY_TIME, to_bytes(body, BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body broke off, or is longer than 16384 bytes",
        )),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body took longer than 10 s",
        )),
    }
}

/// Looks at keys on a thread that may block, as there may be many. Only a few at a time, so that a client that asks
/// again and again takes no more than that from the service.
async fn look(
    shown: Arc<Shown>,
    read: impl FnOnce(&Shown) -> Response + Send + 'static,
) -> Result<Response, Problem> {
    beside(Arc::clone(&shown.readers), shown, read).await
}

/// Takes a turn, which ends when the work is done, even if the client is gone.
async fn beside(
    turns: Arc<Semaphore>,
    shown: Arc<Shown>,
    work: impl FnOnce(&Shown) -> Response + Send + 'static,
) -> Result<Response, Problem> {
    let broken = |error: &dyn std::fmt::Display| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("it failed within the service: look again: {error}"),
        )
    };
    let turn = turns.acquire_owned().await;
    let turn = turn.map_err(|error| broken(&error))?;
    let done = tokio::task::spawn_blocking(move || {
        let response = work(&shown);
        drop(turn);
        response
    });
    done.await.map_err(|error| broken(&error))
}

/// The target whose rules are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    of: String,
    #[serde(default)]
    key: Option<String>,
}

impl Asked {
    fn rules(&self, shown: &Shown) -> Response {
        let Some(source) = shown.sources.iter().find(|source| *source.name == *self.of) else {
            let error = "nothing is shown under this name: the status lists what is";
            return Problem::new(StatusCode::NOT_FOUND, error).into_response();
        };
        match source.it.rules(self.key.as_deref()) {
            Ok(rules) => json(StatusCode::OK, &RulesOf { rules }),
            Err(refused) => control::problem(refused).into_response(),
        }
    }
}
