// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real client and a real server: reqwest behind a `ClientGuard`, by sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, HttpClient};
use atomic_breaker_steps::{
    Lane, MemoryStore, Schedule, Status, Steps, Store,
    requests::{Answer, KeepBody, KeepConfig},
};
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use http::Request;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tower::{ServiceBuilder, ServiceExt};

#[tokio::test]
async fn requests_a_guarded_client_could_not_send_are_sent_later() {
    let (is_up, orders) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let (up, counted) = (Arc::clone(&is_up), Arc::clone(&orders));
    let router = Router::new().route(
        "/orders",
        post(async move |headers: HeaderMap, body: String| {
            if !up.load(Ordering::SeqCst) {
                return StatusCode::SERVICE_UNAVAILABLE;
            }
            assert_eq!(
                (&headers["idempotency-key"], &*body),
                (&"7".parse().unwrap(), "{}")
            );
            counted.fetch_add(1, Ordering::SeqCst);
            StatusCode::CREATED
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, router).await });

    let guard = ClientGuard::new(ClientConfig::new()).unwrap().leak();
    let client = ServiceBuilder::new()
        .map_response(http::Response::<reqwest::Body>::from)
        .layer(guard.layer::<KeepBody<String>>())
        .service(HttpClient::default());
    let keep = KeepConfig::new();
    let hasty = Schedule::new()
        .first(Duration::from_millis(50))
        .growth(1.0)
        .tries(1_000);
    let later = keep
        .replay("order", "orders", client.clone())
        .schedule(hasty);
    // The client has breakers of its own.
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("orders"))
        .workflow(&later)
        .build()
        .unwrap();
    let worker = steps.work();
    let client = ServiceBuilder::new()
        .layer(keep.layer(&steps, &later).unwrap())
        .service(client);

    let request = Request::post(format!("http://{address}/orders"))
        .header("idempotency-key", "7")
        .body("{}".to_owned())
        .unwrap();
    let Answer::Kept(job) = client.oneshot(request).await.unwrap() else {
        panic!("the server is not up");
    };
    is_up.store(true, Ordering::SeqCst);
    let is_done = async {
        while steps.store().job(job).await.unwrap().unwrap().status != Status::Done {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(60), is_done).await.unwrap();
    assert_eq!(orders.load(Ordering::SeqCst), 1);
    worker.stop().await;
    server.abort();
}
