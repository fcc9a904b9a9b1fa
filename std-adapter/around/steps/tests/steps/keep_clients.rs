// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real client and a real server: reqwest behind a `ClientGuard`, by sockets.

use std::convert::Infallible;
use std::io;
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
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use super::keep_server::now;

#[test]
fn a_whole_body_can_be_sent_again_by_reqwest() {
    let body = reqwest::Body::from(KeepBody::<String>::from(b"body".to_vec()));
    assert_eq!(body.as_bytes(), Some(&b"body"[..]));
}

type Streamed = StreamBody<stream::Iter<std::vec::IntoIter<io::Result<Frame<Bytes>>>>>;

/// Answers with the error of the body.
async fn collected(request: Request<KeepBody<Streamed>>) -> Result<Response<String>, Infallible> {
    let body = reqwest::Body::from(request.into_body());
    assert_eq!(body.as_bytes(), None);
    let error = body.collect().await.expect_err("it is cut off");
    Ok(Response::new(format!("{error:?}")))
}

#[tokio::test]
async fn a_body_that_breaks_off_breaks_off_within_reqwest() {
    let keep = KeepConfig::new();
    let later = keep.replay::<KeepBody<Streamed>, _, _>("later", "server", service_fn(collected));
    let steps = Steps::builder(MemoryStore::new()).lane(Lane::new("server"));
    let steps = steps.workflow(&later).build().unwrap();
    let client = keep.layer(&steps, &later).unwrap();
    let frames = vec![
        Ok(Frame::data(Bytes::from_static(b"be"))),
        Err(io::Error::other("the caller has gone")),
    ];
    let request = Request::post("/").header("idempotency-key", "k");
    let request = request.body(StreamBody::new(stream::iter(frames)));
    let sent = client
        .layer(service_fn(collected))
        .oneshot(request.unwrap());
    let error = now(sent.await).into_body();
    assert!(error.contains("the caller has gone"), "{error}");
}

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
        .map_response(Response::<reqwest::Body>::from)
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
