// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tool that fetches records one by one, without `async`: `docs/blocking.md` shows this file.

use std::time::Duration;

use atomic_breaker_http::HttpClassifier;
use atomic_breaker_std::{Breaker, CallError, Config, Retry, blocking, breaker};
use ureq::Agent;
use ureq::http::Response;

pub type ApiError = CallError<ureq::Error>;

pub const RULES: Config = Config::new()
    .consecutive_failures(5)
    .open_for(Duration::from_secs(1))
    .exponential(2, Duration::from_secs(60))
    .jitter_percent(20);

/// One for all threads.
pub static API: Breaker = breaker(RULES);

pub fn agent() -> Agent {
    let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(5)));
    // The classifier looks at the status: a 404 says that the server lives.
    config.http_status_as_error(false).build().into()
}

/// A call with its body, so that one that breaks off is a failure.
pub fn get(agent: &Agent, url: &str) -> Result<Response<String>, ureq::Error> {
    let mut response = agent.get(url).call()?;
    let body = response.body_mut().read_to_string()?;
    Ok(response.map(|_| body))
}

/// One call, which is rejected at once while the API is down.
pub fn once(agent: &Agent, url: &str) -> Result<Response<String>, ApiError> {
    API.call_with(HttpClassifier::new(), || get(agent, url))
}

/// The same for a tool that has nothing else to do: for five minutes it tries again and waits for an API that is down.
pub fn patient(api: &Breaker, agent: &Agent, url: &str) -> Result<Response<String>, ApiError> {
    let minutes = Duration::from_secs(300);
    let policy = Retry::new().tries(100).within(minutes);
    let policy = policy.wait_for_breaker(minutes);
    blocking::retry_with(api, HttpClassifier::new(), policy, || get(agent, url))
}

/// The records that there are, each fetched once. Ends with the first error.
pub fn fetch(
    api: &Breaker,
    agent: &Agent,
    urls: impl Iterator<Item = String>,
    mut done: impl FnMut(),
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut records = Vec::new();
    for url in urls {
        let response = patient(api, agent, &url).map_err(|error| format!("{url}: {error}"))?;
        match response.status().as_u16() {
            200 => records.push(response.into_body()),
            404 => {}
            status => return Err(format!("{url}: {status}").into()),
        }
        done();
    }
    Ok(records)
}
