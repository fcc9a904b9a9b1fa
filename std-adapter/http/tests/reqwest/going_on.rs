// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tries of a middleware whose callers leave before their host has answered.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atomic_breaker_http::{
    Breaker, BreakerMiddleware, ClientConfig, ClientGuard, Config, Origin, PerHost, Registry,
    State, TokioClock, breaker, rejection_of,
};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{
    ClientBuilder, ClientWithMiddleware, Middleware, Next, RequestBuilder, RequestInitialiser,
    Result,
};
use tokio::time::timeout;

use super::middleware::through;
use super::server::{Server, reqwest, start};

pub(super) const MS: Duration = Duration::from_millis(1);
/// Shorter than a host takes that answers after 400 ms.
pub(super) const PATIENCE: Duration = Duration::from_millis(200);

fn origin(server: &Server) -> Origin {
    Origin::from_uri(&server.url("/").parse().unwrap()).unwrap()
}

/// Sends a request each few milliseconds, each of which is dropped after its patience, until `done`.
async fn impatient_until(client: &ClientWithMiddleware, url: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not in 20 s");
        tokio::spawn(timeout(PATIENCE, client.get(url).send()));
        tokio::time::sleep(20 * MS).await;
    }
}

/// 1 s open and a fifth, then a probe.
#[tokio::test(start_paused = true)]
async fn callers_that_leave_do_not_keep_a_healthy_host_shut() {
    let guard = ClientGuard::with(ClientConfig::new(), TokioClock, ());
    let guard: &'static ClientGuard<TokioClock> = guard.unwrap().leak();
    let below = ClientBuilder::new(reqwest()).with(Takes(400 * MS)).build();
    let client = through(guard.middleware(below));
    let origin = Origin::from_uri(&"http://a.example/".parse().unwrap()).unwrap();
    // They leave before and after the cancel limit, or by a limit of their own.
    for patience in [PATIENCE, 300 * MS, 399 * MS] {
        for is_own_limit in [false, true] {
            let tripped = guard.hosts().command(&origin, |host| {
                host.reset();
                host.trip()
            });
            tripped.unwrap();
            let begun = tokio::time::Instant::now();
            while matches!(guard.hosts().state(&origin), State::Open | State::HalfOpen) {
                let request = client.get("http://a.example/");
                if is_own_limit {
                    tokio::spawn(request.timeout(patience).send());
                } else {
                    tokio::spawn(timeout(patience, request.send()));
                }
                tokio::time::sleep(5 * MS).await;
                let shut = begun.elapsed();
                assert!(shut < 1_700 * MS, "{patience:?}: {shut:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_host_that_hangs_is_found_although_all_callers_leave() {
    let server = start();
    let hosts: &'static Registry<Origin> = Registry::new(Config::new()).unwrap().leak();
    let middleware = BreakerMiddleware::new(PerHost::new(hosts), reqwest()).time_limit(500 * MS);
    let client = through(middleware);
    let is_open = || hosts.state(&origin(&server)) == State::Open;
    impatient_until(&client, &server.url("/hangs"), is_open).await;
}

#[tokio::test]
async fn a_host_that_hangs_is_found_through_limits_of_requests() {
    let server = start();
    let plan = ClientConfig::new().try_limit(500 * MS);
    let guard: &'static ClientGuard = ClientGuard::new(plan).unwrap().leak();
    let client = through(guard.middleware(reqwest()));
    for _ in 0..100 {
        let request = client.get(server.url("/hangs")).timeout(PATIENCE);
        let error = request.send().await.unwrap_err();
        assert!(error.is_timeout() || rejection_of(&error).is_some());
    }
    let reached = server.connections();
    assert!(reached < 30, "{reached} of 100 requests reached it");
}

/// A host that takes that long; one of `Duration::MAX` never answers.
pub(super) struct Takes(pub(super) Duration);

impl Middleware for Takes {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        _: Request,
        _: &'b mut Extensions,
        _: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async {
            tokio::time::sleep(self.0).await;
            Ok(http::Response::new("7").into())
        })
    }
}

/// A network breaks: all of its hosts hang.
#[tokio::test(start_paused = true)]
async fn a_thousand_hosts_that_hang_at_once_are_all_found() {
    let hosts = Registry::builder(Config::new()).clock(TokioClock).build();
    let hosts: &'static Registry<Origin, TokioClock> = hosts.unwrap().leak();
    let below = ClientBuilder::new(reqwest()).with(Takes(Duration::MAX));
    let client = through(BreakerMiddleware::new(PerHost::new(hosts), below.build()));
    let urls: Vec<_> = (0..1_000).map(|n| format!("http://{n}.example/")).collect();
    for _ in 0..8 {
        for url in &urls {
            tokio::spawn(timeout(PATIENCE, client.get(url).send()));
        }
        tokio::time::sleep(2 * PATIENCE).await;
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    let is_found = |url: &&String| {
        let host = Origin::from_uri(&url.parse().unwrap()).unwrap();
        hosts.state(&host) == State::Open
    };
    assert_eq!(urls.iter().filter(is_found).count(), urls.len());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_hangs_is_found_without_a_limit_of_the_middleware() {
    let once = Config::new().consecutive_failures(1);
    let hung: &'static Breaker = Box::leak(Box::new(breaker(once)));
    let below = ClientBuilder::new(reqwest())
        .with(Takes(Duration::MAX))
        .build();
    let client = through(BreakerMiddleware::new(hung, below));
    let request = client.get("http://a.example/").timeout(PATIENCE);
    assert!(request.send().await.unwrap_err().is_timeout());
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(hung.state(), State::Closed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(hung.state(), State::Open);
}

#[tokio::test]
async fn where_no_try_goes_on_one_that_is_dropped_is_cancelled() {
    let server = start();
    let once = Config::new().consecutive_failures(1);
    for unlimited in [false, true] {
        let breaker: &'static Breaker = Box::leak(Box::new(breaker(once)));
        let middleware = BreakerMiddleware::new(breaker, reqwest());
        let client = through(if unlimited {
            middleware.time_limit(Duration::MAX)
        } else {
            middleware.time_limit(300 * MS).outliving(0)
        });
        let request = client.get(server.url("/hangs")).send();
        assert!(timeout(100 * MS, request).await.is_err());
        tokio::time::sleep(400 * MS).await;
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
fn a_try_that_is_dropped_without_a_runtime_goes_on() {
    let (server, runtime) = (start(), tokio::runtime::Runtime::new().unwrap());
    let once = Config::new().consecutive_failures(1);
    let breaker: &'static Breaker = Box::leak(Box::new(breaker(once)));
    let client = through(BreakerMiddleware::new(breaker, reqwest()).time_limit(200 * MS));
    let mut abandoned = Box::pin(client.get(server.url("/hangs")).send());
    let left = runtime.block_on(async { timeout(50 * MS, &mut abandoned).await.is_err() });
    assert!(left);
    drop(abandoned);
    let begun = Instant::now();
    while breaker.state() == State::Closed {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(10 * MS);
    }
}

/// Leaves a note for those above it, and finds one from above.
struct Notes;

#[derive(Clone)]
struct FromAbove(u32);
#[derive(Clone, PartialEq, Debug)]
struct FromBelow(u32);

impl Middleware for Notes {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        request: Request,
        extensions: &'b mut Extensions,
        next: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let FromAbove(number) = *extensions.get().unwrap();
            extensions.insert(FromBelow(number));
            next.run(request, extensions).await
        })
    }
}

#[tokio::test]
async fn extensions_pass_through_the_breaker_both_ways() {
    let server = start();
    let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
    let below = ClientBuilder::new(reqwest()).with(Notes).build();
    let client = through(BreakerMiddleware::new(one, below));
    let mut extensions = Extensions::new();
    extensions.insert(FromAbove(7));
    let request = client.get(server.url("/")).build().unwrap();
    let answer = client.execute_with_extensions(request, &mut extensions);
    assert!(answer.await.is_ok());
    assert_eq!(extensions.get(), Some(&FromBelow(7)));
}

#[tokio::test]
async fn what_is_attached_after_the_breaker_is_an_error_and_not_skipped() {
    let server = start();
    let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
    let client = ClientBuilder::new(reqwest())
        .with(BreakerMiddleware::new(one, reqwest()))
        .with(Notes)
        .build();
    for _ in 0..2 {
        let request = client.get(server.url("/")).with_extension(FromAbove(7));
        let error = request.send().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("attach it to the client"), "{text}");
    }
    assert_eq!(server.connections(), 0);
}

/// A host that a test puts in place of the real one, as `async_trait` expands it: its future is as large as the one with
/// which all chains end.
struct Pretends;

impl Middleware for Pretends {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        request: Request,
        extensions: &'b mut Extensions,
        next: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let _kept = (self, request, extensions, next);
            Ok(http::Response::new("7").into())
        })
    }
}

#[tokio::test]
async fn a_middleware_whose_future_looks_like_the_last_one_is_an_error_after_the_breaker() {
    let server = start();
    let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
    let client = ClientBuilder::new(reqwest())
        .with(BreakerMiddleware::new(one, reqwest()))
        .with(Pretends)
        .build();
    for _ in 0..2 {
        let error = client.get(server.url("/")).send().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("attach it to the client"), "{text}");
    }
    assert_eq!(server.connections(), 0);
}

/// Clones of a middleware, one in an `Arc`, and a client that extends another one's middlewares.
#[tokio::test]
async fn clients_that_share_a_breaker_are_told_apart_by_what_comes_after_it() {
    let server = start();
    let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
    let is_error = async |client: ClientWithMiddleware| {
        let request = client.get(server.url("/")).with_extension(FromAbove(7));
        request
            .send()
            .await
            .is_err_and(|error| error.is_middleware())
    };
    for wrong_first in [false, true] {
        let breaker = BreakerMiddleware::new(one, reqwest());
        let clones = || ClientBuilder::new(reqwest()).with(breaker.clone());
        let arc: Arc<dyn Middleware> = Arc::new(BreakerMiddleware::new(one, reqwest()));
        let arcs = || ClientBuilder::new(reqwest()).with_arc(Arc::clone(&arc));
        let extended = ClientBuilder::new(reqwest())
            .with_arc(Arc::clone(&arc))
            .build();
        let extends = || ClientBuilder::from_client(extended.clone());
        let chains: [&dyn Fn() -> ClientBuilder; 3] = [&clones, &arcs, &extends];
        for chain in chains {
            for wrong in [wrong_first, !wrong_first, wrong_first] {
                let chain = if wrong { chain().with(Notes) } else { chain() };
                assert_eq!(is_error(chain.build()).await, wrong);
            }
        }
    }
}

struct Names(&'static str);

impl RequestInitialiser for Names {
    fn init(&self, request: RequestBuilder) -> RequestBuilder {
        request.header(self.0, "7")
    }
}

#[tokio::test]
async fn initialisers_run_in_the_client_that_builds_the_request() {
    let server = start();
    let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
    let below = ClientBuilder::new(reqwest()).with_init(Names("inner"));
    let client = ClientBuilder::new(reqwest())
        .with_init(Names("outer"))
        .with(BreakerMiddleware::new(one, below.build()))
        .build();
    let answer = client.get(server.url("/")).send().await.unwrap();
    let request = answer.text().await.unwrap();
    assert!(
        request.contains("outer: 7") && !request.contains("inner"),
        "{request}"
    );
}
