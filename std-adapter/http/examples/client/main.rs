// SPDX-License-Identifier: MIT OR Apache-2.0
//! hyper-util's HTTP client behind `ClientGuard`.
//!
//! ```console
//! cargo run -p atomic-breaker-http --example client
//! ```
//!
//! Starts three hosts on this machine: one works, one fails every request until it is repaired, one takes requests and
//! never responds. Sends requests to all of them, prints the result of each, and a table of the hosts. Takes about
//! two seconds.
//!
//! | file | what |
//! |---|---|
//! | `main` | **the guard, its plan, and the requests: read this first** |
//! | `hosts` | the hosts, which count what reaches them |

mod hosts;

use std::error::Error;
use std::fmt::Display;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use atomic_breaker_http::{Backoff, ClientConfig, ClientGuard, Config, State};
use axum::body::Body;
use axum::http::{Request, Response};
use hosts::{Host, Mood};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::sleep;
use tower::{Service, ServiceBuilder, ServiceExt};

/// Short times, so that the example is short; the defaults suit most services.
const PLAN: ClientConfig = ClientConfig::new()
    .deadline(Duration::from_secs(2))
    .try_limit(Duration::from_millis(200))
    .backoff(Backoff::new().first(Duration::from_millis(50)))
    .breaker(
        Config::new()
            .consecutive_failures(5)
            .open_for(Duration::from_millis(500))
            .exponential(2, Duration::from_secs(30))
            .jitter_percent(20),
    );

/// Outlives the requests: the breakers of all hosts, and their budgets of retries.
static GUARD: LazyLock<ClientGuard> =
    LazyLock::new(|| ClientGuard::new(PLAN).expect("settings that fit each other"));

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let hosts = [
        ("works", Host::start(Mood::Works).await?),
        ("fails", Host::start(Mood::Fails).await?),
        ("hangs", Host::start(Mood::Hangs).await?),
    ];
    println!("{}\n", GUARD.config());

    // Few idle connections, and not for long: a host may lose its side of them without notice. Over HTTP/2, keep-alive
    // pings as well: `http2_keep_alive_interval`.
    let hyper = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(8)
        .build_http();
    // Any client that takes `http::Request`s. A body is cloned for each try: text, or `Bytes`.
    let client = ServiceBuilder::new()
        .layer(GUARD.layer())
        .map_request(|request: Request<String>| request.map(Body::from))
        .service(hyper);

    for (name, host) in &hosts {
        println!("{name}:");
        for _ in 0..4 {
            ask(&client, host).await;
        }
    }
    table(&hosts);

    println!("\nThe host that fails is repaired.");
    let (_, repaired) = &hosts[1];
    repaired.set(Mood::Works);
    let state = || GUARD.hosts().state(&repaired.origin());
    // Bounded: no open time is longer than a second here.
    for _ in 0..20 {
        if state() == State::Closed {
            break;
        }
        ask(&client, repaired).await;
        sleep(Duration::from_millis(200)).await;
    }
    table(&hosts);
    match state() {
        State::Closed => Ok(()),
        other => Err(format!("it works again, and its breaker is {other}").into()),
    }
}

/// Sends one request, and prints a line about its result.
async fn ask<S, B>(client: &S, host: &Host)
where
    S: Service<Request<String>, Response = Response<B>, Error: Display> + Clone,
{
    let request = Request::get(host.url()).body(String::new());
    let (begin, calls) = (Instant::now(), host.calls());
    let result = client.clone().oneshot(request.expect("a URL")).await;
    let (time, tries) = (begin.elapsed().as_millis(), host.calls() - calls);
    let text = match result {
        Ok(response) => response.status().to_string(),
        Err(error) => error.to_string(),
    };
    println!("  {time:>4} ms, {tries} sent: {text}");
}

/// The contents of a status page.
fn table(hosts: &[(&str, Host)]) {
    println!("\n| host | breaker | requests that reached it | last failure |");
    println!("|---|---|---:|---|");
    for (name, host) in hosts {
        // A healthy host takes no space among them.
        let entry = GUARD.hosts().entry(&host.origin());
        let state = GUARD.hosts().state(&host.origin());
        let failure = entry.and_then(|entry| entry.last_failure);
        let failure = failure.map_or_else(String::new, |failure| failure.to_string());
        println!("| {name} | {state} | {} | {failure} |", host.calls());
    }
}
