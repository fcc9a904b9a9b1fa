// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page that combines the responses of two hosts.

use std::sync::LazyLock;
use std::time::Duration;

use atomic_breaker_http::{
    Backoff, Bytes, ClientConfig, ClientError, ClientGuard, ClientService, Config, HttpClient,
    repeatable,
};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use reqwest::Url;
use tower::{BoxError, Layer, ServiceExt};

/// Short times, so that the example is short; the defaults suit most services.
const PLAN: ClientConfig = ClientConfig::new()
    .deadline(Duration::from_secs(1))
    .try_limit(Duration::from_millis(100))
    .backoff(Backoff::new().first(Duration::from_millis(20)))
    .breaker(
        Config::new()
            .consecutive_failures(4)
            .open_for(Duration::from_millis(300))
            .jitter_percent(20),
    );

/// Outlives the requests: the breakers of all hosts, and their budgets of retries.
pub(crate) static GUARD: LazyLock<ClientGuard> =
    LazyLock::new(|| ClientGuard::new(PLAN).expect("settings that fit each other"));

/// The hosts, and the client for both.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Builds requests.
    reqwest: reqwest::Client,
    /// Sends them.
    client: ClientService<Bytes, reqwest::Response, ClientError>,
    items: Url,
    reviews: Url,
}

impl Page {
    pub(crate) fn new(items: &str, reviews: &str) -> Result<Self, Box<dyn std::error::Error>> {
        // The limits end with the head; this one is for bodies that hang.
        let reqwest = reqwest::Client::builder()
            .read_timeout(Duration::from_millis(200))
            // Few idle connections, and not for long: a host may lose its side of them without notice. Over HTTP/2,
            // with reqwest's feature of that name, keep-alive pings as well: `http2_keep_alive_interval`.
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(8)
            .no_proxy()
            .build()?;
        Ok(Self {
            client: GUARD.layer().layer(HttpClient::new(reqwest.clone())),
            reqwest,
            items: items.parse()?,
            reviews: reviews.parse()?,
        })
    }

    async fn get(&self, url: &Url) -> Result<String, BoxError> {
        let request = self.reqwest.get(url.clone()).build()?;
        let answer = self.client.clone().oneshot(repeatable(&request)?).await?;
        // Only here: above, the guard has seen the status itself.
        let answer = answer.error_for_status().map_err(ClientError::from)?;
        Ok(answer.text().await.map_err(ClientError::from)?)
    }
}

pub(crate) fn routes(page: Page) -> Router {
    Router::new().route("/", get(show)).with_state(page)
}

/// Without items there is no page, but reviews are optional.
async fn show(State(page): State<Page>) -> Result<String, (StatusCode, String)> {
    let (items, reviews) = tokio::join!(page.get(&page.items), page.get(&page.reviews));
    let items = items.map_err(|error| (StatusCode::BAD_GATEWAY, error.to_string()))?;
    let reviews = reviews.unwrap_or_else(|error| format!("none, {error}"));
    Ok(format!("items: {items}; reviews: {reviews}"))
}
