// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes that others would like to have made: forms, foreign pages, bodies.

use crate::requests::{JSON, TRIP, app_at, get, post, send};
use crate::support::World;
use axum::body::Body;
use axum::http::Request;

#[tokio::test]
async fn a_change_comes_from_the_page_or_from_no_browser() {
    let app = app_at(&["admin.example.com", "localhost"], &[]);
    let host = ("host", "admin.example.com");
    for headers in [
        &[host, JSON][..],
        &[host, JSON, ("origin", "https://admin.example.com")],
        &[host, JSON, ("origin", "https://admin.example.com:443")],
        &[
            ("host", "admin.example.com:443"),
            JSON,
            ("origin", "https://admin.example.com"),
        ],
        &[
            host,
            JSON,
            ("origin", "https://admin.example.com"),
            ("sec-fetch-site", "same-origin"),
        ],
    ] {
        post(&app, headers).await.json();
    }
    for origin in [
        "null",
        "",
        "https://evil.example",
        "https://admin.example.com.evil.com",
        "http://localhost",
        "file://",
        "https://admin.example.com:8443",
        "admin.example.com",
        "https://admin.example.com/",
        "chrome-extension://admin.example.com",
        "https://user@admin.example.com",
    ] {
        let error = post(&app, &[host, JSON, ("origin", origin)])
            .await
            .refused(403);
        assert!(error.contains("Admin::origins"), "{origin}: {error}");
    }
    for site in ["cross-site", "same-site", "other"] {
        post(&app, &[host, JSON, ("sec-fetch-site", site)])
            .await
            .refused(403);
        get(&app, &[host, ("sec-fetch-site", site)])
            .await
            .refused(403);
        send(
            &app,
            "GET",
            "/events",
            &[host, ("sec-fetch-site", site)],
            "",
        )
        .await
        .refused(403);
        let visit = send(&app, "GET", "/", &[host, ("sec-fetch-site", site)], "").await;
        assert_eq!(
            visit.status, 200,
            "a link from elsewhere may lead to the page"
        );
    }
}

#[tokio::test]
async fn behind_a_proxy_that_replaces_the_host_the_origin_is_set() {
    let app = app_at(&["10.0.0.7:8080"], &["https://admin.example.com"]);
    let (host, origin) = (
        ("host", "10.0.0.7:8080"),
        ("origin", "https://admin.example.com"),
    );
    post(&app, &[host, JSON, origin]).await.json();
    post(&app, &[host, JSON, ("origin", "http://admin.example.com")])
        .await
        .refused(403);
    get(&app, &[("host", "admin.example.com")])
        .await
        .refused(403);
}

#[tokio::test]
async fn forms_cannot_change_anything() {
    let app = World::new().app();
    let host = ("host", "localhost");
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/jsonp",
        "text/json",
    ] {
        let error = post(&app, &[host, ("content-type", kind)])
            .await
            .refused(415);
        assert!(error.contains("application/json"), "{error}");
    }
    post(&app, &[host]).await.refused(415);
    post(
        &app,
        &[host, ("content-type", "Application/JSON; charset=utf-8")],
    )
    .await
    .json();
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let app = World::new().app();
    let body = format!("{TRIP}{}", " ".repeat(17_000));
    let request = Request::post("/control")
        .header("host", "localhost")
        .header(JSON.0, JSON.1);
    let answer = app.send(request.body(Body::from(body)).unwrap()).await;
    answer.refused_with(413, "16384");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_comes_is_not_waited_for() {
    let app = World::new().app();
    let never = futures_util::stream::pending::<Result<&'static str, std::io::Error>>();
    let request = Request::post("/control")
        .header("host", "localhost")
        .header(JSON.0, JSON.1);
    let answer = app
        .send(request.body(Body::from_stream(never)).unwrap())
        .await;
    answer.refused_with(408, "10 s");
}
