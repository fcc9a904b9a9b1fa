// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers with a time limit of their own, and slow readers: not the host's fault.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use atomic_breaker_http::{
    Bytes, ClientConfig, ClientError, ClientGuard, Config, Deadline, HttpClassifier, HttpClient,
    Origin, PerHost, Registry, RequestError, State, UsualErrors, repeatable,
};
use atomic_breaker_tower::BreakerLayer;
use http::Request;
use reqwest::{Client, Response};
use reqwest_middleware::ClientBuilder;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use super::server::{Server, reqwest, start};

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(3_600));

fn origin(server: &Server) -> Origin {
    Origin::from_uri(&server.url("/").parse().unwrap()).unwrap()
}

async fn get(
    guard: &'static ClientGuard,
    url: &str,
    limit: Duration,
) -> Result<Response, RequestError<ClientError>> {
    let request = reqwest().get(url).timeout(limit).build().unwrap();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(HttpClient::new(reqwest()));
    client.oneshot(repeatable(&request).unwrap()).await
}

fn is_timeout(result: &Result<Response, RequestError<ClientError>>) -> bool {
    matches!(result, Err(RequestError::Failed(error)) if error.is_timeout())
}

#[tokio::test]
async fn an_impatient_caller_does_not_open_a_host_for_all() {
    let server = start();
    let plan = ClientConfig::new().tries(1).breaker(RULES);
    let guard: &'static ClientGuard = ClientGuard::new(plan).unwrap().leak();
    for _ in 0..10 {
        let answer = get(guard, &server.url("/hangs"), Duration::from_millis(1)).await;
        assert!(is_timeout(&answer), "{answer:?}");
    }
    assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
    let patient = Duration::from_secs(3_600);
    assert!(get(guard, &server.url("/"), patient).await.is_ok());
}

/// A copy of a request, such as one that is mirrored or followed up.
#[tokio::test]
async fn a_copy_that_is_sent_after_the_limit_of_its_request_has_the_limit_anew() {
    let (server, limit) = (start(), Duration::from_secs(1));
    let guard: &'static ClientGuard = ClientGuard::new(ClientConfig::new()).unwrap().leak();
    let seen = Arc::new(Mutex::new(None));
    let of_layer = seen.clone();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .map_request(move |request: Request<Bytes>| {
            *of_layer.lock().unwrap() = Some(request.clone());
            request
        })
        .service(HttpClient::new(reqwest()));
    let request = reqwest().get(server.url("/")).timeout(limit);
    let request = repeatable(&request.build().unwrap()).unwrap();
    client.clone().oneshot(request).await.unwrap();
    tokio::time::sleep(limit).await;

    let copy = seen.lock().unwrap().take().unwrap();
    let response = client.oneshot(copy).await.unwrap();
    response.text().await.unwrap();
}

#[tokio::test]
async fn a_host_that_hangs_opens_although_its_callers_leave_before_the_limit_of_a_try() {
    let server = start();
    // Slow after half of a try.
    let plan = ClientConfig::new()
        .tries(1)
        .try_limit(Duration::from_millis(600))
        .breaker(RULES);
    let guard: &'static ClientGuard = ClientGuard::new(plan).unwrap().leak();
    for _ in 0..3 {
        let answer = get(guard, &server.url("/hangs"), Duration::from_millis(350)).await;
        assert!(answer.is_err());
    }
    let begun = Instant::now();
    while guard.hosts().state(&origin(&server)) == State::Closed {
        assert!(begun.elapsed() < Duration::from_secs(20), "closed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn nor_does_an_impatient_caller_through_a_middleware() {
    let server = start();
    let hosts: &'static Registry<Origin> = Registry::new(RULES).unwrap().leak();
    let middleware = atomic_breaker_http::BreakerMiddleware::new(PerHost::new(hosts), reqwest())
        .time_limit(Duration::from_secs(60));
    let client = ClientBuilder::new(reqwest()).with(middleware).build();
    for _ in 0..10 {
        let request = client.get(server.url("/hangs"));
        let answer = request.timeout(Duration::from_millis(1)).send().await;
        assert!(answer.unwrap_err().is_timeout());
    }
    assert_eq!(hosts.state(&origin(&server)), State::Closed);
}

/// The end of a call by reqwest itself: a limit of its client is the host's failure, one of the request is not.
#[tokio::test]
async fn nor_does_an_impatient_caller_through_plain_layers_but_an_impatient_client_does() {
    let server = start();
    let hosts: &'static Registry<Origin> = Registry::new(RULES).unwrap().leak();
    let layer =
        BreakerLayer::new(PerHost::new(hosts)).report(HttpClassifier::new().errors(UsualErrors));
    for _ in 0..10 {
        let request = reqwest().get(server.url("/hangs"));
        let request = request.timeout(Duration::from_millis(1)).build().unwrap();
        let client = layer.layer(HttpClient::new(reqwest()));
        let answer = client.oneshot(repeatable(&request).unwrap()).await;
        assert!(answer.is_err());
    }
    assert_eq!(hosts.state(&origin(&server)), State::Closed);
    let in_time = Client::builder().no_proxy();
    let in_time = in_time.timeout(Duration::from_millis(20)).build().unwrap();
    for _ in 0..3 {
        let request = reqwest().get(server.url("/hangs")).build().unwrap();
        let client = layer.layer(HttpClient::new(in_time.clone()));
        let answer = client.oneshot(repeatable(&request).unwrap()).await;
        assert!(answer.is_err());
    }
    assert_eq!(hosts.state(&origin(&server)), State::Open);
}

async fn at_end(server: &Server, path: &str, client: Client) -> (&'static ClientGuard, Response) {
    let rules = RULES.consecutive_failures(1);
    let plan = ClientConfig::new().breaker(rules).at_end_of_body();
    let guard: &'static ClientGuard = ClientGuard::new(plan).unwrap().leak();
    let request = client.get(server.url(path));
    let request = match path {
        "/body-hangs" => request.timeout(Duration::from_millis(300)),
        _ => request,
    };
    let request = repeatable(&request.build().unwrap()).unwrap();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(HttpClient::new(client));
    (guard, client.oneshot(request).await.unwrap())
}

/// It holds the connection no longer, and a reader that skips errors comes to an end.
#[tokio::test]
async fn a_body_whose_limit_has_passed_ends_with_one_error() {
    let server = start();
    let (_guard, mut response) = at_end(&server, "/body-hangs", reqwest()).await;
    let error = loop {
        match response.chunk().await {
            Ok(chunk) => assert!(chunk.is_some()),
            Err(error) => break error,
        }
    };
    assert!(error.is_timeout());
    assert_eq!(response.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn a_limit_set_on_the_request_is_the_callers_in_a_body_too() {
    let server = start();
    let (guard, response) = at_end(&server, "/body-hangs", reqwest()).await;
    assert!(response.text().await.unwrap_err().is_timeout());
    assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
}

#[tokio::test]
async fn a_slow_reader_who_runs_into_the_limit_of_its_client_does_not_open_the_host() {
    let server = start();
    let client = Client::builder().no_proxy();
    let client = client.timeout(Duration::from_millis(500)).build().unwrap();
    let (guard, response) = at_end(&server, "/", client).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(response.text().await.unwrap_err().is_timeout());
    assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
}

/// Shorter than the time after which a try is slow.
const OWN_LIMIT: Duration = Duration::from_millis(200);

fn patient_with(limit: Duration) -> &'static ClientGuard {
    let plan = ClientConfig::new().try_limit(limit);
    ClientGuard::new(plan).unwrap().leak()
}

#[tokio::test]
async fn a_host_that_hangs_is_found_through_requests_with_a_short_limit() {
    let (server, guard) = (start(), patient_with(Duration::from_millis(600)));
    for _ in 0..100 {
        let _ = get(guard, &server.url("/hangs"), OWN_LIMIT).await;
    }
    // Five open it, within the limit of a try after the fifth, and a probe may follow each second.
    let reached = server.connections();
    assert!(reached < 30, "{reached} of 100 requests reached it");
}

#[tokio::test]
async fn a_healthy_host_is_served_again_whatever_limits_its_requests_have() {
    let (server, guard) = (start(), patient_with(Duration::from_secs(3)));
    let tripped = guard.hosts().command(&origin(&server), |host| host.trip());
    tripped.unwrap();
    let begun = Instant::now();
    while guard.hosts().state(&origin(&server)) != State::Closed {
        assert!(begun.elapsed() < Duration::from_secs(20), "still shut");
        let _ = get(guard, &server.url("/answers-after-400-ms"), OWN_LIMIT).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_limit_of_a_request_ends_it_with_all_its_tries() {
    let (server, guard) = (start(), patient_with(Duration::from_secs(3)));
    let begun = Instant::now();
    let error = get(guard, &server.url("/hangs"), OWN_LIMIT)
        .await
        .unwrap_err();
    let RequestError::Failed(error) = error else {
        panic!("{error:?}")
    };
    assert!(error.is_timeout() && begun.elapsed() < Duration::from_secs(2));
    let text = "no response within 200ms, the limit of its request";
    assert_eq!(error.to_string(), text);
    // Not sent at all.
    server.connections();
    let error = get(guard, &server.url("/"), Duration::ZERO).await;
    assert!(is_timeout(&error), "{error:?}");
    assert_eq!(server.connections(), 0);
}

/// It is no promise to wait for so long.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_shorter_than_the_limit_of_a_request_holds() {
    let client = ServiceBuilder::new()
        .layer(patient_with(Duration::from_secs(3)).layer())
        .service(service_fn(|_: Request<Bytes>| {
            pending::<Result<Response, ClientError>>()
        }));
    for (own, deadline) in [(60, 1), (1, 60)] {
        let request = reqwest().get("http://a.example/");
        let request = request.timeout(Duration::from_secs(own)).build().unwrap();
        let mut request = repeatable(&request).unwrap();
        let deadline = Deadline(Duration::from_secs(deadline));
        request.extensions_mut().insert(deadline);
        let begun = tokio::time::Instant::now();
        let answer = client.clone().oneshot(request).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
        assert_eq!(is_timeout(&answer), own == 1, "{answer:?}");
    }
}

/// A request without any limit, whatever that of its client, has none that could pass.
#[tokio::test]
async fn beneath_a_request_without_limit_a_hang_is_the_hosts_fault() {
    let (server, none) = (start(), Duration::MAX);
    let client = Client::builder().no_proxy();
    let client = client.read_timeout(Duration::from_millis(1_500));
    let client = client.build().unwrap();
    let plan = ClientConfig::new().breaker(RULES.consecutive_failures(1));
    let plan = plan.at_end_of_body();
    let [layered, through]: [&'static ClientGuard; 2] =
        [(); 2].map(|()| ClientGuard::new(plan).unwrap().leak() as _);

    let request = client.get(server.url("/body-hangs")).timeout(none);
    let request = repeatable(&request.build().unwrap()).unwrap();
    let by_layer = ServiceBuilder::new()
        .layer(layered.layer())
        .service(HttpClient::new(client.clone()))
        .oneshot(request);
    let middleware = through.middleware(client.clone());
    let stack = ClientBuilder::new(client).with(middleware).build();
    let by_middleware = stack.get(server.url("/body-hangs")).timeout(none).send();
    let hangs = async |response: Response| response.text().await.unwrap_err().is_timeout();
    let both = tokio::join!(async { hangs(by_layer.await.unwrap()).await }, async {
        hangs(by_middleware.await.unwrap()).await
    },);
    assert_eq!(both, (true, true));
    for guard in [layered, through] {
        assert_eq!(guard.hosts().state(&origin(&server)), State::Open);
    }
}

#[tokio::test]
async fn the_limit_of_a_request_replaces_a_shorter_one_of_its_client() {
    let server = start();
    let client = Client::builder().no_proxy().timeout(OWN_LIMIT / 2);
    let request = reqwest().get(server.url("/answers-after-400-ms"));
    let request = request.timeout(Duration::from_secs(60)).build().unwrap();
    let client = ServiceBuilder::new()
        .layer(patient_with(Duration::from_secs(3)).layer())
        .service(HttpClient::new(client.build().unwrap()));
    let answer = client.oneshot(repeatable(&request).unwrap()).await;
    assert!(answer.unwrap().text().await.is_ok());
}

#[tokio::test]
async fn the_limit_of_a_request_covers_the_body_of_its_response() {
    let (server, guard) = (start(), patient_with(Duration::from_secs(3)));
    let begun = Instant::now();
    let response = get(guard, &server.url("/body-hangs"), 2 * OWN_LIMIT)
        .await
        .unwrap();
    assert_eq!(response.url().as_str(), server.url("/body-hangs"));
    assert!(response.remote_addr().is_some());
    assert_eq!(response.content_length(), Some(100));
    let error = response.bytes().await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

/// Layers in between change the type of the client's error.
#[tokio::test]
async fn the_limit_of_a_request_beneath_other_layers_is_its_deadline() {
    let (server, guard) = (start(), patient_with(Duration::from_millis(600)));
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .map_err(std::io::Error::other)
        .service(HttpClient::new(reqwest()));
    for _ in 0..40 {
        let request = reqwest().get(server.url("/hangs")).timeout(OWN_LIMIT);
        let request = repeatable(&request.build().unwrap()).unwrap();
        match client.clone().oneshot(request).await.unwrap_err() {
            RequestError::OwnDeadlineExceeded | RequestError::Rejected(_) => {}
            error => panic!("{error:?}"),
        }
    }
    assert!(server.connections() < 20);
}
