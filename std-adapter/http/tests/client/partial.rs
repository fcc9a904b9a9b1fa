// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that answers most requests: what serves one of them ill shuts out no other.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, ClientBody, ClientConfig, ClientGuard, ClientService, Config, GrpcClassifier, Origin,
    RequestError, State, TokioClock,
};
use atomic_breaker_tower::{ServiceError, TryLayer};
use http::{Method, Request, Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::is_served;

const SECOND: Duration = Duration::from_secs(1);

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

fn origin() -> Origin {
    Origin::from_uri(&"http://a.example/".parse().unwrap()).unwrap()
}

/// A client of a host that gives these answers.
fn client(
    guard: Guard,
    answer: impl Fn(&Request<()>) -> Response<String> + Clone + Send + Sync + 'static,
) -> Client {
    let host = service_fn(move |request: Request<()>| {
        let response = answer(&request);
        async move {
            sleep(Duration::from_millis(20)).await;
            Ok(response)
        }
    });
    ServiceBuilder::new().layer(guard.layer()).service(host)
}

fn response(status: u16) -> Response<String> {
    let response = Response::builder().status(status);
    response.body(String::new()).unwrap()
}

fn request(method: &str) -> Request<()> {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = Request::builder().method(method).uri("http://a.example/");
    request.body(()).unwrap()
}

/// One after the other, and so in a row that lasts.
#[tokio::test(start_paused = true)]
async fn what_a_host_does_not_do_shuts_out_nothing_that_it_does() {
    for status in [501, 505, 507, 511] {
        let guard = guard(ClientConfig::new());
        let client = client(guard, move |request| {
            response(if request.method() == Method::GET {
                200
            } else {
                status
            })
        });
        for _ in 0..200 {
            let answer = client.clone().oneshot(request("PROPFIND")).await.unwrap();
            assert_eq!(answer.status(), status);
            sleep(SECOND / 10).await;
        }
        assert_eq!(guard.hosts().state(&origin()), State::Closed, "{status}");
        let answer = client.oneshot(request("GET")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{status}");
    }
}

/// A login of a network says nothing of the host, so the next probe decides; the other answers are the host's own.
#[tokio::test(start_paused = true)]
async fn a_probe_that_gets_such_an_answer_has_found_the_host() {
    for (status, is_found) in [(501, true), (505, true), (507, true), (511, false)] {
        let guard = guard(ClientConfig::new());
        let client = client(guard, move |_| response(status));
        guard
            .hosts()
            .command(&origin(), |host| host.trip())
            .unwrap();
        sleep(2 * SECOND).await;
        client.clone().oneshot(request("GET")).await.unwrap();
        let state = guard.hosts().state(&origin());
        assert_eq!(is_served(state), is_found, "{status}: {state:?}");
    }
}

/// Counts of calls by their end.
#[derive(Debug, Default)]
struct Calls {
    served: u32,
    failed: u32,
    rejected: u32,
}

/// Calls that often a second, for that long.
async fn calls(client: &Client, a_second: u32, time: Duration) -> Calls {
    let mut under_way = JoinSet::new();
    for _ in 0..a_second * u32::try_from(time.as_secs()).unwrap() {
        under_way.spawn(client.clone().oneshot(request("GET")));
        sleep(SECOND / a_second).await;
    }
    let mut calls = Calls::default();
    for result in under_way.join_all().await {
        match result {
            Ok(response) if response.status() == 200 => calls.served += 1,
            Err(RequestError::Rejected(_)) => calls.rejected += 1,
            _ => calls.failed += 1,
        }
    }
    calls
}

/// 503, and the ten seconds that common shedders ask for.
fn sheds() -> Response<String> {
    let mut response = response(503);
    response.headers_mut().insert("retry-after", 10.into());
    response
}

/// 95 of 6,000 calls were answered.
#[tokio::test(start_paused = true)]
async fn one_overloaded_instance_of_twenty_shuts_out_none_of_the_others() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::seed(seed);
    for (a_second, time) in [(1, 600), (10, 600), (100, 60), (1_000, 20)] {
        let guard = guard(ClientConfig::new());
        let client = client(guard, |_| {
            if fastrand::u32(0..20) == 0 {
                sheds()
            } else {
                response(200)
            }
        });
        let calls = calls(&client, a_second, Duration::from_secs(time)).await;
        println!("{a_second} a second: {calls:?}");
        let answered = calls.served + calls.failed;
        assert!(calls.rejected * 50 <= answered, "{a_second}: {calls:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_of_which_all_instances_shed_is_left_alone_for_as_long() {
    let rules = ClientConfig::new().breaker_config();
    for (config, open) in [
        (ClientConfig::new(), 10..=12),
        (ClientConfig::new().max_retry_after(4 * SECOND), 4..=5),
        (ClientConfig::new().max_retry_after(Duration::ZERO), 0..=0),
        (
            ClientConfig::new().breaker(rules.max_retry_after(6 * SECOND)),
            6..=7,
        ),
    ] {
        let guard = guard(config);
        let client = client(guard, |_| sheds());
        let mut made = 0;
        while guard.hosts().state(&origin()) == State::Closed {
            client.clone().oneshot(request("POST")).await.unwrap();
            made += 1;
        }
        // A row, and as many as it must last.
        assert!((10..=20).contains(&made), "{made}");
        let (begun, mut rejected) = (Instant::now(), 0);
        while client.clone().oneshot(request("POST")).await.is_err() {
            rejected += 1;
            sleep(SECOND / 10).await;
        }
        let shut = begun.elapsed().as_secs();
        assert!(open.contains(&shut), "{shut} s, not {open:?}");
        assert!(rejected >= 10 * *open.start(), "{rejected}");
    }
}

/// A tenant of a gRPC server is pushed back, beside one that is not. 5,000 of 5,940 calls were rejected.
#[tokio::test(start_paused = true)]
async fn the_push_back_of_one_tenant_shuts_out_no_other() {
    // RESOURCE_EXHAUSTED for each second call, and UNAVAILABLE for each tenth.
    for (code, every) in [(8, 2), (14, 10)] {
        for push_back in ["10000", "-1"] {
            let breaker = Arc::new(Breaker::new(Config::new(), TokioClock));
            let client = ServiceBuilder::new()
                .layer(
                    TryLayer::new(Arc::clone(&breaker), 3 * SECOND)
                        .report(GrpcClassifier::new().at_end_of_body()),
                )
                .service(service_fn(move |is_pushed_back: bool| async move {
                    let response = Response::builder().header("content-type", "application/grpc");
                    let response = if is_pushed_back {
                        response
                            .header("grpc-status", code)
                            .header("grpc-retry-pushback-ms", push_back)
                    } else {
                        response.header("grpc-status", 0)
                    };
                    Ok::<_, Infallible>(response.body(String::new()).unwrap())
                }));
            for number in 0..6_000 {
                let answer = client.clone().oneshot(number % every == 0).await;
                assert!(
                    !matches!(answer, Err(ServiceError::Rejected(_))),
                    "{code}: {number}"
                );
                sleep(SECOND / 100).await;
            }
        }
    }
}
