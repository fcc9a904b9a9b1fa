//! From a path to its handler.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::any;
use tokio::sync::Semaphore;

#[cfg(feature = "steps")]
use super::jobs;
use super::request::{change, query};
use super::response::{Problem, json};
use super::shown::Shown;
use super::{control, events, gate, history, page, status};

pub(super) fn router<S: Clone + Send + Sync + 'static>(shown: Arc<Shown>) -> Router<S> {
    let answer = move |request: Request<Body>| {
        let shown = Arc::clone(&shown);
        async move {
            let (parts, body) = request.into_parts();
            let served = serve(shown, &parts, body).await;
            served.unwrap_or_else(Problem::into_response)
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
            gate::visit(request)?;
            Ok(page::response(request.uri.query()))
        }
        "/status" => {
            let query: status::Query = query(request)?;
            query.check()?;
            look(shown, move |shown| {
                json(&status::read(shown, &query, &operator))
            })
            .await
        }
        "/timeline" => {
            let query: history::Query = query(request)?;
            query.check()?;
            look(shown, move |shown| json(&history::read(shown, &query))).await
        }
        "/rules" => {
            let query: status::RulesOf = query(request)?;
            look(shown, move |shown| json(&query.read(shown)?)).await
        }
        "/events" => {
            gate::read(request)?;
            events::stream(&shown, request)
        }
        "/control" => {
            let change: control::Request = change(&shown, &operator, request, body).await?;
            let turns = Arc::clone(&shown.commands);
            beside(turns, shown, move |shown| {
                json(&control::obey(shown, &operator, &change)?)
            })
            .await
        }
        #[cfg(feature = "steps")]
        path if jobs::PATHS.contains(&path) => jobs::serve(&shown, &operator, request, body).await,
        _ => Err(Problem::not_found(
            "there is no such path: GET status, timeline, rules and events, POST control; of steps GET jobs, \
             jobs/counts and job, POST jobs/control",
        )),
    }
}

/// Looks at keys on a thread that may block, as there may be many. Only a few at a time, so that a client that asks
/// again and again takes no more than that from the service.
async fn look(
    shown: Arc<Shown>,
    read: impl FnOnce(&Shown) -> Result<Response, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    beside(Arc::clone(&shown.readers), shown, read).await
}

/// Takes a turn, which ends when the work is done, even if the client is gone.
async fn beside(
    turns: Arc<Semaphore>,
    shown: Arc<Shown>,
    work: impl FnOnce(&Shown) -> Result<Response, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let turn = turns.acquire_owned().await;
    let done = tokio::task::spawn_blocking(move || {
        let response = work(&shown);
        drop(turn);
        response
    });
    done.await.unwrap_or_else(|error| {
        let error = format!("it failed within the service: look again: {error}");
        Err(Problem::internal(error))
    })
}
