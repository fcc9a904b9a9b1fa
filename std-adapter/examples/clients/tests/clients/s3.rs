// SPDX-License-Identifier: MIT OR Apache-2.0
//! aws-sdk-s3, against moto, which stores objects as S3 does, and against a server that answers with one error.

use std::fmt::Debug;
use std::net::Ipv4Addr;

use atomic_breaker_server::{Failure, Outcome, ServiceError, Timed};
use clients::rules;
use clients::s3::{Failed, Objects, classify};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::outage::{is_closed, survive, survive_loss};
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

type Answer<T> = Result<T, ServiceError<Timed<Failed>>>;

fn objects(port: u16) -> Objects {
    Objects::new(&format!("http://localhost:{port}"), rules())
}

fn judged<T: Debug>(answer: Answer<T>) -> (Outcome, u16, String) {
    let Err(ServiceError::Failed(Timed::Failed(error))) = answer else {
        panic!("{answer:?}");
    };
    let Failed::Request(request) = &error else {
        panic!("{error:?}");
    };
    let status = request
        .raw_response()
        .map_or(0, |raw| raw.status().as_u16());
    let code = request.as_service_error().and_then(|error| error.code());
    (
        classify(&error),
        status,
        code.unwrap_or_default().to_owned(),
    )
}

async fn create(objects: &Objects) {
    let create = objects.run(async |client| {
        client.create_bucket().bucket("prices").send().await?;
        Ok(())
    });
    create.await.unwrap();
}

#[tokio::test]
async fn is_closed_through_errors_of_callers() {
    let Some(host) = Server::start(Kind::Objects) else {
        return;
    };
    let objects = objects(host.port);
    create(&objects).await;
    objects
        .put("prices", "tea", b"7.50".to_vec())
        .await
        .unwrap();
    assert_eq!(objects.get("prices", "tea").await.unwrap(), b"7.50");
    for _ in 0..100 {
        let coffee = judged(objects.get("prices", "coffee").await);
        assert_eq!(coffee, (Outcome::Success, 404, "NoSuchKey".into()));
    }
    let bucket = judged(objects.get("nowhere", "tea").await);
    assert_eq!(bucket, (Outcome::Success, 404, "NoSuchBucket".into()));
    let snapshot = objects.server().breaker().snapshot();
    assert!(is_closed(objects.server()) && snapshot.failures() == 0);
}

/// The errors that moto never returns.
#[tokio::test]
async fn knows_the_errors_of_a_server_that_is_not_well() {
    let failure = Outcome::from(Failure::new());
    let cases = [
        (503, "SlowDown", failure),
        (500, "InternalError", failure),
        (403, "AccessDenied", Outcome::Success),
        (403, "InvalidAccessKeyId", failure),
        (403, "RequestTimeTooSkewed", failure),
        (400, "ExpiredToken", failure),
        (412, "PreconditionFailed", Outcome::Success),
        (501, "NotImplemented", Outcome::Success),
    ];
    for (status, code, outcome) in cases {
        let port = answering(status, code).await;
        let answer = judged(objects(port).get("prices", "tea").await);
        assert_eq!(answer, (outcome, status, code.to_owned()));
    }
}

/// A server that answers each request with this error.
async fn answering(status: u16, code: &'static str) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let _ = client.read(&mut [0; 4_096]).await;
            let body = format!("<Error><Code>{code}</Code><Message>No.</Message></Error>");
            let head = format!("HTTP/1.1 {status} No\r\ncontent-length: {}\r\n", body.len());
            let answer = format!("{head}connection: close\r\n\r\n{body}");
            let _ = client.write_all(answer.as_bytes()).await;
        }
    });
    port
}

#[tokio::test]
async fn opens_while_the_server_hangs_or_is_dead_and_is_served_after_it() {
    let Some(mut host) = Server::start(Kind::Objects) else {
        return;
    };
    let objects = objects(host.port);
    let buckets = async || {
        objects
            .run(async |client| {
                client.list_buckets().send().await?;
                Ok(())
            })
            .await
    };
    survive("aws-sdk-s3", &mut host, objects.server(), buckets).await;
}

#[tokio::test]
async fn a_probe_does_not_try_lost_connections() {
    let Some(host) = Server::start(Kind::Objects) else {
        return;
    };
    let proxy = Proxy::start(host.port).await;
    let objects = objects(proxy.port);
    create(&objects).await;
    objects
        .put("prices", "tea", b"7.50".to_vec())
        .await
        .unwrap();
    let call = async || objects.get("prices", "tea").await;
    survive_loss("aws-sdk-s3", &proxy, objects.server(), call).await;
}
