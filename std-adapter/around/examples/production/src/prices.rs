// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guarded call, and what users get when it fails: the last price known.

use std::time::Duration;

use atomic_breaker_http::{ClientError, NotRepeatable, Unavailable, repeatable};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header::WARNING};
use axum::response::{IntoResponse, Response};
use moka::sync::Cache;
use reqwest::{Method, Request, Url};
use tower::{BoxError, ServiceExt};

use crate::guard::Client;

#[derive(Clone)]
pub struct Prices {
    client: Client,
    url: Url,
    known: Cache<String, String>,
}

impl Prices {
    pub fn new(client: Client, url: Url) -> Self {
        let cache = Cache::builder().max_capacity(10_000);
        let known = cache.time_to_live(Duration::from_secs(3_600)).build();
        Self { client, url, known }
    }

    pub async fn ask(&self, item: &str) -> Result<String, BoxError> {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("item", item);
        // An item that is too long makes a URL that is.
        let request = repeatable(&Request::new(Method::GET, url))?;
        let answer = self.client.clone().oneshot(request).await?;
        // Only here: the guard has seen the status itself.
        let answer = answer.error_for_status().map_err(ClientError::from)?;
        let price = answer.text().await.map_err(ClientError::from)?;
        self.known.insert(item.to_owned(), price.clone());
        Ok(price)
    }
}

pub async fn price(State(prices): State<Prices>, Path(item): Path<String>) -> Response {
    match (prices.ask(&item).await, prices.known.get(&item)) {
        (Ok(price), _) => price.into_response(),
        (Err(_), Some(known)) => {
            ([(WARNING, "110 - \"Response is Stale\"")], known).into_response()
        }
        // Not with `Retry-After`: prices that are known are still answered.
        (Err(error), None) => match Unavailable::from_error(&*error) {
            Some(unavailable) => unavailable.response(),
            None if error.is::<NotRepeatable>() => {
                (StatusCode::URI_TOO_LONG, error.to_string()).into_response()
            }
            None => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        },
    }
}
