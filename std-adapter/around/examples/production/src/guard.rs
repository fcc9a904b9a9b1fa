// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker per host, retries and time limits, around the HTTP client; watched by log, metrics and admin page.

use std::time::Duration;

use atomic_breaker_admin::Timeline;
use atomic_breaker_http::{
    Bytes, ClientConfig, ClientConfigError, ClientError, ClientGuard, ClientService, HttpClient,
    TokioClock,
};
use atomic_breaker_observe::{Log, Metrics, OfRetries};
use tower::Layer;

/// Tokio's clock is that of `std`, except in tests that pause the time.
pub type Guard = ClientGuard<TokioClock>;

pub type Client = ClientService<Bytes, reqwest::Response, ClientError>;

/// Lives as long as the program.
pub fn start(config: ClientConfig) -> Result<(&'static Guard, Timeline), ClientConfigError> {
    let (timeline, metrics) = (Timeline::new(), Metrics::new("hosts"));
    let observers = (
        Log::new("hosts"),
        (metrics.clone(), timeline.recorder("hosts")),
    );
    let guard = ClientGuard::with(config, TokioClock, observers)?.leak();
    metrics.watch_static(guard.hosts());
    Metrics::<OfRetries>::new("hosts").watch_retries(|| guard.retries());
    Ok((guard, timeline))
}

pub fn around_reqwest(guard: &'static Guard) -> reqwest::Result<Client> {
    let client = reqwest::Client::builder()
        // Few idle connections, and not for long: a host may lose its side of them without notice.
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(8)
        .build()?;
    Ok(guard.layer().layer(HttpClient::new(client)))
}

/// Ends an outage as soon as the host answers, instead of with the request of a caller.
pub fn check_health(
    guard: &'static Guard,
    path: &str,
    client: Client,
) -> Result<(), ClientConfigError> {
    let check = guard.health_check(path)?.every(Duration::from_secs(1));
    tokio::spawn(check.run(client));
    Ok(())
}
