// SPDX-License-Identifier: MIT OR Apache-2.0
//! The call to a host, with a timeout inside the breaker, and the classification of failures.

use std::fmt;
use std::time::Duration;

use atomic_breaker_http::{Failure, HttpClassifier, Outcome};
use atomic_breaker_server::CallError;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::hosts::Host;

/// For one call to a host. Shorter than the patience of this service's callers.
const LIMIT: Duration = Duration::from_millis(500);

/// Larger than any host's response.
const MAX_BYTES: usize = 1 << 20;

/// Keeps connections to all hosts.
#[derive(Clone, Debug)]
pub(crate) struct Client(legacy::Client<HttpConnector, Body>);

impl Client {
    pub(crate) fn new() -> Self {
        Self(legacy::Client::builder(TokioExecutor::new()).build_http())
    }

    /// A call to a host, through its breaker.
    pub(crate) async fn call(&self, host: &Host) -> Result<Bytes, CallError<Error>> {
        let url = format!("http://{}/", host.address);
        let call = || async {
            // A call that hangs ends here, as an error that counts.
            let answer = timeout(LIMIT, self.get(&url)).await??;
            if answer.status().is_success() {
                Ok(answer.into_body())
            } else {
                Err(Error::Status(
                    answer.status(),
                    retry_after(answer.headers()),
                ))
            }
        };
        host.breaker.call_async_with(classify, call).await
    }

    /// A call without a breaker: any response is a success.
    pub(crate) async fn get(&self, url: &str) -> Result<Response<Bytes>, Error> {
        let request = Request::get(url).body(Body::empty()).map_err(broken)?;
        let (parts, body) = self.0.request(request).await.map_err(broken)?.into_parts();
        let bytes = to_bytes(Body::new(body), MAX_BYTES).await.map_err(broken)?;
        Ok(Response::from_parts(parts, bytes))
    }
}

/// Decides what a failed call says about the host.
fn classify<T>(result: &Result<T, Error>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        // Most say something of the request alone.
        Err(Error::Status(status, hint)) => match (HttpClassifier::new().status(*status), hint) {
            (Outcome::Failure(failure), Some(time)) => failure.asking_for(*time).into(),
            (outcome, _) => outcome,
        },
        Err(_) => Failure::new().into(),
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// The host did not respond in time.
    TimedOut,
    /// The host reported a failure, and for how long it will last, if it says so.
    Status(StatusCode, Option<Duration>),
    /// The connection or the response was broken.
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Broken(error.into())
}

/// Makes a timeout an error of the call: `timeout(..).await??`.
impl From<Elapsed> for Error {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => write!(f, "no answer within {LIMIT:?}"),
            Self::Status(status, _) => write!(f, "the host answered {status}"),
            Self::Broken(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}
