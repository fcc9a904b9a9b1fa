// SPDX-License-Identifier: MIT OR Apache-2.0
//! The routes of the service.

use std::collections::BTreeMap;
use std::sync::Arc;

use atomic_breaker_server::{CallError, Rejected, Snapshot};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};

use super::client::Client;
use super::hosts::Hosts;

#[derive(Clone, Debug)]
struct Service {
    hosts: Arc<Hosts>,
    client: Client,
}

pub(crate) fn routes(hosts: Arc<Hosts>) -> Router {
    let client = Client::new();
    Router::new()
        .route("/call/{name}", get(call))
        .route("/status", get(status))
        .with_state(Service { hosts, client })
}

/// The host's response, or the reason why there is none.
async fn call(State(service): State<Service>, Path(name): Path<String>) -> Response {
    let Some(host) = service.hosts.get(&name) else {
        return (StatusCode::NOT_FOUND, "no such host").into_response();
    };
    match service.client.call(host).await {
        Ok(bytes) => bytes.into_response(),
        Err(CallError::Failed(error)) => {
            (StatusCode::BAD_GATEWAY, error.to_string()).into_response()
        }
        Err(CallError::Rejected(rejected)) => unavailable(rejected),
    }
}

/// Passes on how long callers should wait, if that is known.
fn unavailable(rejected: Rejected) -> Response {
    let text = rejected.to_string();
    match rejected.retry_in() {
        Some(time) => {
            let seconds = time.as_millis().div_ceil(1000).to_string();
            (
                StatusCode::SERVICE_UNAVAILABLE,
                [(RETRY_AFTER, seconds)],
                text,
            )
                .into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, text).into_response(),
    }
}

/// Every breaker, by the name of its host.
async fn status(State(service): State<Service>) -> Json<BTreeMap<&'static str, Snapshot>> {
    Json(service.hosts.status())
}
