//! What a request asks.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Query;
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Operator;
use super::gate;
use super::response::Problem;
use super::shown::Shown;

/// The most bytes of a change, and how long they may take to arrive.
const BODY: usize = 16 * 1_024;
const BODY_TIME: Duration = Duration::from_secs(10);

/// The query of a read that is not a visit of the page.
pub(super) fn query<T: DeserializeOwned>(request: &Parts) -> Result<T, Problem> {
    gate::read(request)?;
    match Query::try_from_uri(&request.uri) {
        Ok(Query(query)) => Ok(query),
        Err(error) => Err(Problem::bad_request(error.body_text())),
    }
}

/// What is to be changed, if this operator may change it.
pub(super) async fn change<T: DeserializeOwned>(
    shown: &Shown,
    operator: &Operator,
    request: &Parts,
    body: Body,
) -> Result<T, Problem> {
    shown.gate.change(request)?;
    if !operator.may_change() {
        let name = operator.name();
        let error = format!("{name:?} may look, but not change anything");
        return Err(Problem::forbidden(error));
    }
    let body = match timeout(BODY_TIME, to_bytes(body, BODY)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let error = "the body broke off, or is longer than 16384 bytes";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error));
        }
        Err(_) => {
            let error = "the body took longer than 10 s";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, error));
        }
    };
    serde_json::from_slice(&body).map_err(|error| Problem::unprocessable(error.to_string()))
}
