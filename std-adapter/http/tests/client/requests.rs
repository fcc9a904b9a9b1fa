// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of requests.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Origin, Probe, RequestError, State,
    TokioClock,
};
use atomic_breaker_server::RetryEvent;
use http::{Request, Response, StatusCode, Uri};
use tokio::time::{Instant, sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) type Guard = &'static ClientGuard<TokioClock>;

pub(super) fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

pub(super) type Client = ClientService<String, Response<ClientBody<String, Guard>>, io::Error>;

/// The server that the hosts of the tests stand for: `hangs.example` hangs, `503.example` counts, and
/// answers 503.
#[derive(Clone, Default)]
pub(super) struct Servers {
    calls: Arc<AtomicU32>,
}

impl Servers {
    async fn answer(self, request: Request<String>) -> Result<Response<String>, io::Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let host = request.uri().host().unwrap_or_default();
        let mut response = Response::new(host.to_owned());
        match host.split('.').next().unwrap_or_default() {
            "hangs" => return pending().await,
            "refuses" => return Err(io::Error::other("connection refused")),
            name => {
                if let Ok(code) = name.parse() {
                    *response.status_mut() = code;
                }
            }
        }
        if let Some(query) = request.uri().query() {
            let seconds = query.trim_start_matches("retry-after=");
            let seconds = seconds.parse().unwrap();
            response.headers_mut().insert("retry-after", seconds);
        }
        Ok(response)
    }

    pub(super) fn behind(&self, guard: Guard) -> Client {
        let servers = self.clone();
        ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(move |request| servers.clone().answer(request)))
    }

    fn calls(&self) -> u32 {
        self.calls.swap(0, Ordering::Relaxed)
    }
}

/// The usual guard, the servers, and a client to them.
fn usual() -> (Guard, Servers, Client) {
    let (guard, servers) = (guard(five_in_a_row()), Servers::default());
    let client = servers.behind(guard);
    (guard, servers, client)
}

pub(super) fn get(uri: &str) -> Request<String> {
    Request::get(uri).body(String::new()).unwrap()
}

fn host(uri: &'static str) -> Origin {
    Origin::from_uri(&Uri::from_static(uri)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_healthy_host_responds_without_delay() {
    let (_, servers, client) = usual();
    let begin = Instant::now();
    for _ in 0..100 {
        let response = client.clone().oneshot(get("http://a.example/")).await;
        assert_eq!(
            response.unwrap().body().get_ref().get_ref().unwrap(),
            "a.example"
        );
    }
    assert_eq!((servers.calls(), begin.elapsed()), (100, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_fails_is_left_alone_and_the_others_are_not() {
    let (guard, servers, client) = usual();
    let response = client.clone().oneshot(get("http://503.example/")).await;
    assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(servers.calls(), 3, "tried again");
    let response = client.clone().oneshot(get("http://503.example/")).await;
    assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(servers.calls(), 2, "five failures in all");
    let error = client
        .clone()
        .oneshot(get("http://503.example/"))
        .await
        .unwrap_err();
    let RequestError::Rejected(rejection) = error else {
        panic!("{error}");
    };
    assert_eq!(servers.calls(), 0);
    assert_eq!(
        &*rejection.last_failure.unwrap().text,
        "503 Service Unavailable"
    );
    assert_eq!(
        guard.hosts().state(&host("http://503.example")),
        State::Open
    );
    let other = client.clone().oneshot(get("http://a.example/")).await;
    assert!(other.is_ok());
    servers.calls();
    let again = client.oneshot(get("http://503.example/")).await;
    assert!(matches!(again, Err(RequestError::Rejected(_))));
    assert_eq!(servers.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_hangs_costs_three_tries_within_the_deadline() {
    let (_, servers, client) = usual();
    let begin = Instant::now();
    let error = client
        .clone()
        .oneshot(get("http://hangs.example/"))
        .await
        .unwrap_err();
    assert!(matches!(error, RequestError::TryTimedOut), "{error}");
    let took = begin.elapsed();
    assert!(took >= 9 * SECOND && took <= 10 * SECOND, "{took:?}");
    assert_eq!(servers.calls(), 3);
    // Whatever happens, the deadline is kept.
    for _ in 0..20 {
        let begin = Instant::now();
        let error = client
            .clone()
            .oneshot(get("http://hangs.example/"))
            .await
            .unwrap_err();
        assert!(
            begin.elapsed() <= 10 * SECOND + Duration::from_millis(2),
            "{error}"
        );
    }
    assert!(servers.calls() < 20, "mostly rejected");
}

#[tokio::test(start_paused = true)]
async fn clients_that_give_up_early_do_not_hide_a_host_that_hangs() {
    let (guard, _, client) = usual();
    for _ in 0..5 {
        let request = client.clone().oneshot(get("http://hangs.example/"));
        assert!(timeout(2 * SECOND, request).await.is_err());
    }
    // The last try goes on to its limit.
    sleep(SECOND * 11 / 10).await;
    assert_eq!(
        guard.hosts().state(&host("http://hangs.example")),
        State::Open
    );
}

#[tokio::test(start_paused = true)]
async fn a_post_is_made_once_and_its_failure_is_the_clients_own() {
    let (_, servers, client) = usual();
    let post = Request::post("http://refuses.example/")
        .body(String::new())
        .unwrap();
    let error = client.clone().oneshot(post).await.unwrap_err();
    assert_eq!(error.to_string(), "connection refused");
    assert!(matches!(error, RequestError::Failed(_)));
    assert_eq!(servers.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_quota_of_one_caller_does_not_shut_the_host_for_all() {
    let (guard, _, client) = usual();
    let begin = Instant::now();
    let response = client
        .clone()
        .oneshot(get("http://429.example/?retry-after=2"))
        .await;
    assert_eq!(response.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(begin.elapsed() >= 4 * SECOND, "this caller waits, twice");
    assert_eq!(
        guard.hosts().state(&host("http://429.example")),
        State::Closed
    );
    // A host that fails, and says for how long, is left alone for that long.
    for _ in 0..5 {
        let response = client
            .clone()
            .oneshot(get("http://503.example/?retry-after=60"))
            .await;
        assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
        sleep(SECOND / 30).await;
    }
    let entry = guard.hosts().entry(&host("http://503.example")).unwrap();
    assert!(entry.snapshot.retry_in().unwrap() > 55 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_back_is_waited_for_where_that_is_asked_for() {
    let (guard, servers) = (
        guard(five_in_a_row().rejection_waits(1)),
        Servers::default(),
    );
    let client = servers.behind(guard);
    for _ in 0..2 {
        let _ = client.clone().oneshot(get("http://503.example/")).await;
    }
    guard
        .hosts()
        .command(&host("http://a.example"), |breaker| breaker.trip())
        .unwrap();
    let begin = Instant::now();
    let response = client.clone().oneshot(get("http://a.example/")).await;
    assert!(response.is_ok(), "it waited, and was the probe");
    assert!(begin.elapsed() >= SECOND);
    assert!(is_served(guard.hosts().state(&host("http://a.example"))));
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_failures_is_not_multiplied() {
    // A breaker that never opens, so that nothing but the budget holds the retries back.
    let never = atomic_breaker_http::Config::new().consecutive_failures(60_000);
    let (guard, servers) = (guard(five_in_a_row().breaker(never)), Servers::default());
    let client = servers.behind(guard);
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        requests.spawn(client.clone().oneshot(get("http://502.example/")));
    }
    requests.join_all().await;
    let calls = servers.calls();
    assert!((1_050..=1_110).contains(&calls), "{calls} instead of 3,000");
    let budget = guard.budget_of(&host("http://502.example"));
    assert!(budget.millitokens() < 1_000);
    let counts = guard.retries();
    assert_eq!(counts, budget.counts(), "of the only host");
    assert_eq!(counts.of(RetryEvent::Sent), u64::from(calls) - 1_000);
    let refused = counts.of(RetryEvent::NoToken);
    assert!(refused >= 900, "{refused}");
}

/// For a layer below the guard that repairs what a probe needs.
#[tokio::test(start_paused = true)]
async fn a_probe_says_how_far_to_repair_and_other_requests_do_not() {
    let rules = atomic_breaker_http::Config::new().consecutive_failures(2);
    let guard = guard(five_in_a_row().tries(1).breaker(rules.open_for(SECOND)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(move |request: Request<String>| {
            let trips = request.extensions().get().map(Probe::trips);
            noted.lock().unwrap().push(trips);
            // The third probe repairs it.
            let is_well = noted.lock().unwrap().len() > 4;
            async move {
                if is_well {
                    Ok(Response::new(String::new()))
                } else {
                    Err(io::Error::other("broken"))
                }
            }
        }));
    for _ in 0..7 {
        let _ = client.clone().oneshot(get("http://a.example/")).await;
        if guard.hosts().state(&host("http://a.example")) == State::Open {
            sleep(SECOND * 2).await;
        }
    }
    let expected = [None, None, Some(1), Some(2), Some(3), None, None];
    assert_eq!(*seen.lock().unwrap(), expected);
}
