// SPDX-License-Identifier: MIT OR Apache-2.0
//! The client without a breaker, as careful people write it: a time limit for each try, and several tries with
//! exponential pauses and jitter.

use std::net::SocketAddr;
use std::time::Duration;

use atomic_breaker_http::Backoff;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Response, StatusCode, Uri};
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::time::{sleep, timeout};

use super::load::{Caller, Outcome};

/// The limits of both clients.
pub(crate) const TRY: Duration = Duration::from_secs(1);
pub(crate) const TRIES: u32 = 3;
pub(crate) const PAUSES: Backoff = Backoff::new();

/// Keeps connections to all hosts.
pub(crate) type Http = Client<HttpConnector, Empty<Bytes>>;

pub(crate) fn http() -> Http {
    Client::builder(TokioExecutor::new()).build_http()
}

#[derive(Clone)]
pub(crate) struct Careful(Http);

impl Careful {
    pub(crate) fn new(_: &[SocketAddr]) -> Self {
        Self(http())
    }
}

impl Caller for Careful {
    async fn call(&self, url: Uri) -> Outcome {
        for retry in 1.. {
            match timeout(TRY, self.0.get(url.clone())).await {
                Ok(Ok(response)) if !is_failure(response.status()) => return judge(response).await,
                _ if retry == TRIES => break,
                _ => sleep(PAUSES.draw(retry)).await,
            }
        }
        Outcome::Failed
    }
}

/// Returns whether a result is retried.
fn is_failure(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS
}

/// The result of a response for the caller, once its body has arrived.
pub(crate) async fn judge<B>(response: Response<B>) -> Outcome
where
    B: http_body_util::BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let is_success = response.status().is_success();
    match to_bytes(Body::new(response.into_body()), 1 << 10).await {
        Ok(_) if is_success => Outcome::Answered,
        _ => Outcome::Failed,
    }
}
