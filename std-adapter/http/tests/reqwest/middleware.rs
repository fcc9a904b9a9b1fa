// SPDX-License-Identifier: MIT OR Apache-2.0
//! Through reqwest-middleware.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, BreakerMiddleware, ClientConfig, ClientGuard, Config, HttpClassifier, Origin, PerHost,
    Registry, Rejection, RequestError, State, breaker, rejection_of,
};
use atomic_breaker_server::{Rejected, Resource};
use http::{Extensions, StatusCode};
use reqwest::{Request, Response};
use reqwest_middleware::{
    ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, RequestBuilder,
};

use super::server::{Down, reqwest, start};

const ONCE: Config = Config::new().consecutive_failures(1);

pub(super) fn through(middleware: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest()).with(middleware).build()
}

pub(super) fn one() -> &'static Breaker {
    Box::leak(Box::new(breaker(ONCE)))
}

fn origin(url: &str) -> Origin {
    Origin::from_uri(&url.parse().unwrap()).unwrap()
}

fn rejection(result: Result<Response, Error>) -> Rejection {
    let error = result.unwrap_err();
    rejection_of(&error).unwrap_or_else(|| panic!("{error:?}"))
}

#[tokio::test]
async fn each_host_has_a_breaker_that_all_clones_share() {
    let (bad, good) = (start(), start());
    let hosts = Arc::new(Registry::new(Config::new().consecutive_failures(2)).unwrap());
    let client = through(BreakerMiddleware::new(
        PerHost::new(Arc::clone(&hosts)),
        reqwest(),
    ));
    for client in [&client, &client.clone()] {
        let answer = client.get(bad.url("/503")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    let rejected = rejection(client.clone().get(bad.url("/")).send().await);
    assert!(rejected.retry_in().is_some());
    let last = rejected.last_failure.unwrap();
    assert_eq!(&*last.text, "503 Service Unavailable");
    assert_eq!(bad.connections(), 2, "the rejected one was not sent");

    let text = client.get(good.url("/")).send().await.unwrap().text().await;
    assert!(text.unwrap().starts_with("GET / HTTP/1.1"));
    assert_eq!(hosts.state(&origin(&good.url("/"))), State::Closed);
}

#[tokio::test]
async fn one_breaker_for_all_requests_is_a_reference_an_arc_or_a_resource() {
    let server = start();
    let (reference, arc) = (one(), Arc::new(breaker(ONCE)));
    let resource = Arc::new(Resource::new(breaker(ONCE)));
    let clients = [
        through(BreakerMiddleware::new(reference, reqwest())),
        through(BreakerMiddleware::new(Arc::clone(&arc), reqwest())),
        through(BreakerMiddleware::new(Arc::clone(&resource), reqwest())),
    ];
    for client in &clients {
        assert!(client.get(server.url("/503")).send().await.is_ok());
        rejection(client.get(server.url("/")).send().await);
    }
    for state in [reference.state(), arc.state(), resource.breaker().state()] {
        assert_eq!(state, State::Open);
    }
}

#[tokio::test]
async fn a_rejection_is_found_through_anyhow_and_through_error() {
    let breaker = one();
    breaker.trip();
    let client = through(BreakerMiddleware::new(breaker, reqwest()));
    let error = client.get("http://127.0.0.1:1/").send().await.unwrap_err();
    assert!(error.is_middleware() && !error.is_timeout());
    assert_eq!(
        error.to_string(),
        "request not sent, because its circuit breaker is open"
    );
    assert!(rejection_of(&error).unwrap().retry_in().is_some());
    let Error::Middleware(error) = error else {
        panic!("{error:?}");
    };
    assert!(error.downcast_ref::<Rejection>().is_some());
    let text = format!("{error:#}");
    assert!(
        text.contains(": circuit breaker is open, retry in "),
        "{text}"
    );
}

#[test]
fn a_rejection_is_found_in_errors_that_show_it_as_their_own() {
    let rejection = || Rejection::from(Rejected::new(State::Open, Duration::from_secs(1)));
    let guarded = || RequestError::<io::Error>::Rejected(rejection());
    for error in [
        Error::middleware(io::Error::other(rejection())),
        Error::middleware(guarded()),
        Error::middleware(io::Error::other(guarded())),
    ] {
        assert_eq!(rejection_of(&error), Some(rejection()), "{error:?}");
    }
}

#[tokio::test]
async fn a_host_that_is_down_opens_and_the_reason_names_the_cause_and_no_secret() {
    let down = Down::new();
    let hosts = Arc::new(Registry::new(ONCE).unwrap());
    let client = through(BreakerMiddleware::new(PerHost::new(hosts), reqwest()));
    let failed = client.get(&down.url).send().await.unwrap_err();
    assert!(failed.is_connect());
    let rejected = rejection(client.get(&down.url).send().await);
    let text = rejected.last_failure.unwrap().text.to_lowercase();
    assert!(
        text.contains("tcp connect error: ") && text.contains("refused"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_call_beyond_its_limit_is_a_timeout_and_a_failure() {
    let (server, breaker) = (start(), one());
    let limit = Duration::from_millis(50);
    let client = through(BreakerMiddleware::new(breaker, reqwest()).time_limit(limit));
    let error = client.get(server.url("/hangs")).send().await.unwrap_err();
    assert!(error.is_timeout() && !error.is_middleware(), "{error:?}");
    assert_eq!(error.url().unwrap().as_str(), server.url("/hangs"));
    let source = error.source().unwrap().to_string();
    assert_eq!(source, "no response within 50ms");
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_middleware_shows_its_settings_and_no_password() {
    let mut headers = http::HeaderMap::new();
    headers.insert("authorization", "S3CR3T".parse().unwrap());
    let client = reqwest::Client::builder().default_headers(headers);
    let hosts = Arc::new(Registry::<Origin>::new(ONCE).unwrap());
    let admit = PerHost::new(hosts).with_origin(origin("https://u:S3CR3T@a.example/"));
    let middleware = BreakerMiddleware::new(admit, client.build().unwrap())
        .time_limit(Duration::from_secs(7))
        .at_end_of_body();
    for text in [format!("{middleware:?}"), format!("{middleware:#?}")] {
        for part in [
            "BreakerMiddleware",
            "admit: PerHost",
            "https://a.example",
            "http: HttpClassifier",
            "time_limit: 7s",
            "at_end_of_body: true",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("S3CR3T"), "{text}");
    }
}

#[test]
#[should_panic(expected = "no response comes within 0")]
fn a_limit_of_zero_is_an_error() {
    let _ = BreakerMiddleware::new(one(), reqwest()).time_limit(Duration::ZERO);
}

#[tokio::test]
async fn where_no_try_goes_on_a_call_that_is_dropped_is_cancelled() {
    let server = start();
    // However busy the machine, what is dropped is still young.
    let rules = ONCE.cancel_limit(Duration::from_secs(60));
    let hosts = Arc::new(Registry::new(rules).unwrap());
    let middleware = BreakerMiddleware::new(PerHost::new(Arc::clone(&hosts)), reqwest());
    let client = through(middleware.outliving(0));
    let request = client.get(server.url("/hangs")).send();
    let cut = tokio::time::timeout(Duration::from_millis(20), request).await;
    assert!(cut.is_err());
    assert_eq!(hosts.state(&origin(&server.url("/"))), State::Closed);
    // Nor is the probe of an open breaker lost.
    hosts
        .command(&origin(&server.url("/")), |host| {
            host.trip();
            host.probe_now();
        })
        .unwrap();
    let probe = client.get(server.url("/hangs")).send();
    let cut = tokio::time::timeout(Duration::from_millis(20), probe).await;
    assert!(cut.is_err());
    assert!(client.get(server.url("/")).send().await.is_ok());
    assert_eq!(hosts.state(&origin(&server.url("/"))), State::Closed);
}

#[tokio::test]
async fn callers_mistakes_open_nothing() {
    let breaker = one();
    let client = through(BreakerMiddleware::new(breaker, reqwest()));
    let error = client.get("ftp://127.0.0.1/").send().await.unwrap_err();
    assert!(error.is_builder(), "{error:?}");
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test]
async fn another_classifier_decides() {
    let (server, down, breaker) = (start(), Down::new(), one());
    let http = HttpClassifier::new()
        .statuses(|status| match status {
            StatusCode::NOT_FOUND => atomic_breaker_http::Failure::new().into(),
            _ => atomic_breaker_http::Outcome::Success,
        })
        .errors(|_: &Error| atomic_breaker_http::Outcome::Ignored);
    let client = through(BreakerMiddleware::new(breaker, reqwest()).classify(http));
    assert!(client.get(server.url("/503")).send().await.is_ok());
    assert!(client.get(&down.url).send().await.is_err());
    assert_eq!(breaker.state(), State::Closed);
    assert!(client.get(server.url("/404")).send().await.is_ok());
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test]
async fn a_truncated_body_counts_if_that_is_asked_for() {
    let server = start();
    for at_end in [false, true] {
        let breaker = one();
        let mut middleware = BreakerMiddleware::new(breaker, reqwest());
        if at_end {
            middleware = middleware.at_end_of_body();
        }
        let client = through(middleware);
        let whole = client.get(server.url("/")).send().await.unwrap();
        assert_eq!(whole.url().as_str(), server.url("/"));
        assert!(whole.text().await.is_ok());
        let broken = client.get(server.url("/breaks-off")).send().await.unwrap();
        assert!(broken.text().await.is_err());
        assert_eq!(breaker.state() == State::Open, at_end);
    }
}

#[tokio::test]
async fn a_probe_whose_body_of_unknown_length_is_truncated_fails_if_it_waits_for_the_end() {
    let server = start();
    for (middleware, state) in [
        (
            BreakerMiddleware::at_end_of_body as fn(_) -> _,
            State::Closed,
        ),
        (BreakerMiddleware::probes_at_end, State::Open),
    ] {
        let breaker = one();
        breaker.trip();
        breaker.probe_now();
        let client = through(middleware(BreakerMiddleware::new(breaker, reqwest())));
        let broken = client.get(server.url("/chunks-break-off")).send().await;
        assert!(broken.unwrap().text().await.is_err());
        assert_eq!(breaker.state(), state);
    }
}

#[tokio::test]
async fn a_redirect_counts_for_the_host_that_was_asked() {
    let (server, down) = (start(), Down::new());
    let hosts = Arc::new(Registry::new(ONCE).unwrap());
    let client = through(BreakerMiddleware::new(
        PerHost::new(Arc::clone(&hosts)),
        reqwest(),
    ));
    let url = server.url(&format!("/to?{}", down.url));
    assert!(client.get(url).send().await.is_err());
    assert_eq!(hosts.state(&origin(&server.url("/"))), State::Open);
    assert_eq!(hosts.state(&origin(&down.url)), State::Closed);
}

/// A middleware that panics.
struct Panics;

impl Middleware for Panics {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        _: Request,
        _: &'b mut Extensions,
        _: Next<'c>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async { panic!("a defect") })
    }
}

#[tokio::test]
async fn a_panic_below_is_a_failure() {
    let breaker = one();
    let below = ClientBuilder::new(reqwest()).with(Panics).build();
    let client = through(BreakerMiddleware::new(breaker, below));
    let task = tokio::spawn(async move { client.get("http://127.0.0.1:1/").send().await });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test]
async fn a_guard_lends_its_breakers_and_its_limit() {
    let server = start();
    let plan = ClientConfig::new()
        .try_limit(Duration::from_millis(50))
        .breaker(ONCE);
    let guard = ClientGuard::new(plan).unwrap().leak();
    let client = through(guard.middleware(reqwest()));
    let request: RequestBuilder = client.get(server.url("/hangs"));
    assert!(request.send().await.unwrap_err().is_timeout());
    assert_eq!(guard.hosts().state(&origin(&server.url("/"))), State::Open);
}

#[tokio::test]
async fn a_rejection_by_another_breaker_is_no_failure() {
    let (outer, inner) = (one(), one());
    inner.trip();
    let below = through(BreakerMiddleware::new(inner, reqwest()));
    let client = through(BreakerMiddleware::new(outer, below));
    rejection(client.get("http://127.0.0.1:1/").send().await);
    assert_eq!(outer.state(), State::Closed);
    outer.acquire().unwrap().failure();
    assert_eq!(outer.state(), State::Open);
}
