// SPDX-License-Identifier: MIT OR Apache-2.0
//! Truncated bodies.

use std::io::{Read, Write};
use std::time::Duration;

use atomic_breaker_http::{
    ClientConfig, ClientGuard, Config, HttpClient, Origin, State, repeatable,
};
use http::Request;
use http_body::Body;
use http_body_util::BodyExt;
use tower::{ServiceBuilder, ServiceExt};

use super::server::{Server, reqwest, start};

const PLAN: ClientConfig = ClientConfig::new()
    .tries(1)
    .breaker(Config::new().consecutive_failures(1))
    .at_end_of_body();

fn guard() -> &'static ClientGuard {
    ClientGuard::new(PLAN).unwrap().leak()
}

async fn get(guard: &'static ClientGuard, url: &str) -> reqwest::Response {
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(HttpClient::new(reqwest()));
    let request = Request::get(url).body("").unwrap();
    client.oneshot(request).await.unwrap()
}

fn state(guard: &'static ClientGuard, server: &Server) -> State {
    guard
        .hosts()
        .state(&Origin::from_uri(&server.url("/").parse().unwrap()).unwrap())
}

#[tokio::test]
async fn a_truncated_body_is_a_failure_of_the_host() {
    let (server, guard) = (start(), guard());
    let whole = get(guard, &server.url("/")).await;
    assert_eq!(whole.url().as_str(), server.url("/"));
    assert!(whole.text().await.unwrap().starts_with("GET / HTTP/1.1"));
    assert_eq!(state(guard, &server), State::Closed);

    let broken = get(guard, &server.url("/breaks-off")).await;
    assert_eq!(state(guard, &server), State::Closed, "its head was fine");
    assert!(broken.text().await.is_err());
    assert_eq!(state(guard, &server), State::Open);
}

#[tokio::test]
async fn an_unread_body_counts_like_its_head() {
    let (server, guard) = (start(), guard());
    drop(get(guard, &server.url("/breaks-off")).await);
    assert_eq!(state(guard, &server), State::Closed);
}

#[tokio::test]
async fn a_hanging_body_is_cancelled_by_its_reader() {
    let (server, guard) = (start(), guard());
    let response = get(guard, &server.url("/body-hangs")).await;
    let text = tokio::time::timeout(Duration::from_millis(50), response.text()).await;
    assert!(text.is_err(), "the limits of the guard end with the head");
    assert_eq!(state(guard, &server), State::Closed);
}

/// Servers that pass it on say how long it is, and whether there is one.
#[tokio::test]
async fn the_limit_of_a_request_leaves_its_body_its_length_and_end() {
    let server = Server::serving(|mut connection, _| {
        let mut request = [0; 4_096];
        let length = connection.read(&mut request).unwrap_or(0);
        let answer = if request[..length].starts_with(b"GET /none ") {
            "HTTP/1.1 204 No Content\r\n\r\n"
        } else {
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
        };
        let _ = connection.write_all(answer.as_bytes());
    });
    for (path, length) in [("/", 5), ("/none", 0)] {
        let request = reqwest().get(server.url(path));
        let request = request.timeout(Duration::from_secs(60)).build().unwrap();
        let client = ServiceBuilder::new()
            .layer(guard().layer())
            .service(HttpClient::new(reqwest()));
        let response = client.oneshot(repeatable(&request).unwrap()).await.unwrap();
        let mut body = http::Response::<reqwest::Body>::from(response).into_body();
        assert_eq!(body.size_hint().exact(), Some(length), "{path}");
        assert_eq!(body.is_end_stream(), length == 0, "{path}");
        while let Some(frame) = body.frame().await {
            assert_eq!(frame.unwrap().into_data().unwrap(), "hello");
        }
        assert!(body.is_end_stream(), "{path}");
    }
}

#[tokio::test]
async fn with_a_time_limit_on_reading_a_hanging_body_is_a_failure() {
    let (server, guard) = (start(), guard());
    let patient = reqwest::Client::builder()
        .no_proxy()
        .read_timeout(Duration::from_millis(500))
        .build()
        .unwrap();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(HttpClient::new(patient));
    let request = Request::get(server.url("/body-hangs")).body("").unwrap();
    let response = client.oneshot(request).await.unwrap();
    assert!(response.text().await.unwrap_err().is_timeout());
    assert_eq!(state(guard, &server), State::Open);
}
