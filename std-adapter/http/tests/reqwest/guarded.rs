// SPDX-License-Identifier: MIT OR Apache-2.0
//! Through `ClientGuard`, and with a breaker straight onto the client.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    Backoff, ClientConfig, ClientError, ClientGuard, ClientService, Config, HttpClassifier,
    HttpClient, MayRepeat, NotRepeatable, Origin, OriginError, PerHost, Registry, RequestError,
    ServiceError, State, breaker, repeatable,
};
use atomic_breaker_tower::BreakerLayer;
use http::{Request, StatusCode};
use reqwest::{Method, Response, Url};
use tower::{ServiceBuilder, ServiceExt};

use super::server::{Down, reqwest, start};

const HOUR: Duration = Duration::from_secs(3_600);
const PLAN: ClientConfig = ClientConfig::new()
    .backoff(Backoff::new().first(Duration::from_millis(1)))
    .breaker(Config::new().consecutive_failures(5).open_for(HOUR));

fn guard(config: ClientConfig) -> &'static ClientGuard {
    ClientGuard::new(config).unwrap().leak()
}

fn get(url: &str) -> Request<&'static str> {
    Request::get(url).body("").unwrap()
}

fn origin(url: &str) -> Origin {
    Origin::from_uri(&url.parse().unwrap()).unwrap()
}

fn client(guard: &'static ClientGuard) -> ClientService<&'static str, Response, ClientError> {
    ServiceBuilder::new()
        .layer(guard.layer())
        .service(HttpClient::new(reqwest()))
}

#[tokio::test]
async fn a_healthy_host_responds_with_its_body() {
    let (server, guard) = (start(), guard(PLAN));
    for path in ["/", "/404"] {
        let answer = client(guard).oneshot(get(&server.url(path))).await.unwrap();
        assert_eq!(answer.url().path(), path);
        let text = answer.text().await.unwrap();
        assert!(text.starts_with(&format!("GET {path} HTTP/1.1")), "{text}");
    }
    assert_eq!(
        guard.hosts().state(&origin(&server.url("/"))),
        State::Closed
    );
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_host_that_fails_is_tried_again_and_then_rejected_without_a_connection() {
    let (server, guard) = (start(), guard(PLAN));
    let client = client(guard);
    let answer = client.clone().oneshot(get(&server.url("/503"))).await;
    assert_eq!(answer.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.connections(), 3, "tries");

    let answer = client.clone().oneshot(get(&server.url("/503"))).await;
    assert_eq!(answer.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.connections(), 2, "five failures in all");

    let rejected = client.oneshot(get(&server.url("/"))).await;
    let Err(RequestError::Rejected(rejection)) = rejected else {
        panic!("{rejected:?}");
    };
    let text = rejection.last_failure.unwrap().text.clone();
    assert_eq!(&*text, "503 Service Unavailable");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_retry_after_says_how_long_it_opens_once_the_rules_trip() {
    let rules = Config::new().consecutive_failures(2).open_for(HOUR / 3_600);
    let (server, guard) = (start(), guard(PLAN.breaker(rules)));
    for _ in 0..2 {
        let answer = client(guard).oneshot(get(&server.url("/503/later"))).await;
        // The pause would end after the deadline, so this is the answer.
        assert_eq!(answer.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(server.connections(), 1, "since the last look");
    }
    let entry = guard.hosts().entry(&origin(&server.url("/"))).unwrap();
    assert!(entry.snapshot.is_demanded(), "{:?}", entry.snapshot);
}

#[tokio::test]
async fn a_host_that_is_down_is_rejected_and_the_reason_names_the_cause_and_no_secret() {
    let (down, guard) = (Down::new(), guard(PLAN.tries(1)));
    let client = client(guard);
    for _ in 0..5 {
        let failed = client.clone().oneshot(get(&down.url)).await;
        let Err(RequestError::Failed(error)) = failed else {
            panic!("{failed:?}");
        };
        assert!(error.is_connect());
    }
    let rejected = client.oneshot(get(&down.url)).await;
    let Err(RequestError::Rejected(rejection)) = rejected else {
        panic!("{rejected:?}");
    };
    let text = rejection.last_failure.unwrap().text.to_lowercase();
    assert!(text.contains("refused"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_host_that_hangs_times_out() {
    let (server, limit) = (start(), Duration::from_millis(50));
    let guard = guard(PLAN.try_limit(limit).tries(1));
    let result = client(guard).oneshot(get(&server.url("/hangs"))).await;
    assert!(matches!(result, Err(RequestError::TryTimedOut)));
}

#[tokio::test]
async fn a_uri_without_a_host_is_an_error_and_not_a_panic() {
    let result = HttpClient::new(reqwest()).oneshot(get("/path")).await;
    assert!(result.unwrap_err().is_builder());
}

#[tokio::test]
async fn requests_that_reqwest_built_are_sent_again() {
    let (server, guard) = (start(), guard(PLAN));
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(HttpClient::new(reqwest()));
    let built = reqwest()
        .post(server.url("/503"))
        .header("x-mine", "1")
        .timeout(HOUR)
        .body("an item")
        .build()
        .unwrap();
    let request = repeatable(&built).unwrap();
    let answer = client.clone().oneshot(request.clone()).await.unwrap();
    let text = answer.text().await.unwrap();
    assert!(
        text.contains("x-mine: 1") && text.ends_with("an item"),
        "{text}"
    );
    assert_eq!(server.connections(), 1, "a POST is not sent twice");

    let mut request = request;
    request.extensions_mut().insert(MayRepeat(true));
    let answer = client.oneshot(request.clone()).await.unwrap();
    assert!(answer.text().await.unwrap().ends_with("an item"));
    assert_eq!(server.connections(), 3);
    let again = reqwest::Request::try_from(request).unwrap();
    assert_eq!(again.timeout(), Some(&HOUR));
}

#[test]
fn streamed_bodies_are_not_repeatable_and_empty_ones_are() {
    let url = Url::parse("http://a.example/").unwrap();
    let mut request = reqwest::Request::new(Method::POST, url);
    assert!(repeatable(&request).unwrap().body().is_empty());
    *request.body_mut() = Some(reqwest::Body::wrap(String::from("streamed")));
    let streamed = repeatable(&request).unwrap_err();
    assert_eq!(streamed, NotRepeatable::StreamedBody);
    assert!(streamed.to_string().contains("streamed body"), "{streamed}");
}

/// A caller of the caller may choose a part of it, such as a query.
#[test]
fn a_url_that_is_too_long_is_an_error_that_says_so() {
    let of = |length: usize| {
        let host = "http://a.example/?q=";
        let url = format!("{host}{}", "x".repeat(length - host.len()));
        repeatable(&reqwest::Request::new(
            Method::GET,
            Url::parse(&url).unwrap(),
        ))
    };
    assert!(of(65_534).is_ok());
    let error = of(65_535).unwrap_err();
    assert_eq!(error, NotRepeatable::UrlTooLong(65_535));
    assert!(error.to_string().contains("65535 bytes"), "{error}");

    let data = Url::parse("data:text/plain,x").unwrap();
    let error = repeatable(&reqwest::Request::new(Method::GET, data)).unwrap_err();
    assert_eq!(error, NotRepeatable::NoHttpUrl);
}

#[tokio::test]
async fn a_breaker_per_host_straight_onto_the_client() {
    let server = start();
    let hosts = Registry::new(Config::new().consecutive_failures(2)).unwrap();
    let client = ServiceBuilder::new()
        .layer(BreakerLayer::new(PerHost::new(Arc::new(hosts))).report(HttpClassifier::new()))
        .map_err(ClientError::from)
        .service(reqwest());
    let get = |url: &str| client.clone().oneshot(reqwest().get(url).build().unwrap());
    for _ in 0..2 {
        let answer = get(&server.url("/503")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    let rejected = get(&server.url("/")).await;
    assert!(matches!(rejected, Err(ServiceError::Rejected(_))));
    assert_eq!(server.connections(), 2);
    assert!(get(&start().url("/")).await.is_ok(), "another host");
}

#[tokio::test]
async fn a_breaker_around_a_call_without_layers() {
    let (server, client) = (start(), reqwest());
    let breaker = breaker(Config::new().consecutive_failures(1));
    let send = || client.get(server.url("/503")).send();
    assert!(
        breaker
            .call_async_with(HttpClassifier::new(), send)
            .await
            .is_ok()
    );
    assert_eq!(breaker.snapshot().state(), State::Open);
}

#[test]
fn an_origin_is_that_of_the_url() {
    for url in [
        "http://a.example/",
        "https://A.example:443/b?c",
        "https://user:p%40ss@a.example:8443/",
        "http://user@127.0.0.1:8080",
        "http://[::1]:8080/x",
        "https://[2001:db8::1]/",
    ] {
        let request = reqwest::Request::new(Method::GET, Url::parse(url).unwrap());
        assert_eq!(
            Origin::from_reqwest(&request).unwrap(),
            origin(url),
            "{url}"
        );
        assert_eq!(
            Origin::from_reqwest(&request).unwrap().to_string(),
            origin(url).to_string()
        );
    }
    let idn = Url::parse("https://bücher.example/").unwrap();
    let idn = Origin::from_reqwest(&reqwest::Request::new(Method::GET, idn)).unwrap();
    assert_eq!(idn.to_string(), "https://xn--bcher-kva.example");
    let none = Url::parse("data:text/plain,x").unwrap();
    let none = Origin::from_reqwest(&reqwest::Request::new(Method::GET, none));
    assert_eq!(none, Err(OriginError::Missing));
}
