// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that are let in: hosts, operators, methods.

use crate::requests::{JSON, TRIP, app_at, get, post, send};
use crate::support::{App, World};
use atomic_breaker_admin::Operator;
use axum::Extension;
use axum::body::Body;
use axum::http::Request;

#[tokio::test]
async fn a_request_without_an_operator_is_refused_with_the_fix() {
    let world = World::new();
    let app = App(world.admin().router().unwrap());
    for path in [
        "/",
        "/status",
        "/timeline",
        "/rules?of=hosts",
        "/events",
        "/?script",
        "/nothing",
    ] {
        let error = app.get(path).await.refused(403);
        assert!(
            error.contains("Operator::new") && error.contains("unauthenticated()"),
            "{path}: {error}"
        );
    }
    let error = post(&app, &[("host", "localhost"), JSON])
        .await
        .refused(403);
    assert!(error.contains("Operator::new"), "{error}");
    let open = App(world.admin().unauthenticated().router().unwrap());
    assert_eq!(open.get("/status").await.json()["operator"], "anyone");
}

#[tokio::test]
async fn a_route_layer_authenticates_as_well() {
    let router = World::new().admin().router::<()>().unwrap();
    let app = App(router.route_layer(Extension(Operator::new("carol"))));
    assert_eq!(app.get("/status").await.json()["operator"], "carol");
}

#[tokio::test]
async fn only_loopback_is_served_unless_hosts_are_set() {
    let app = World::new().app();
    for host in [
        "localhost",
        "LOCALHOST:8080",
        "localhost.",
        "127.0.0.1",
        "127.9.9.9:1",
        "[::1]",
        "[::1]:8080",
        "[0:0::1]",
    ] {
        get(&app, &[("host", host)]).await.json();
    }
    for host in [
        "evil.example",
        "localhost.evil.com",
        "evil-localhost",
        "127.0.0.1.evil.com",
        "a.localhost",
        "10.0.0.1",
        "[::2]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "127.1",
        "2130706433",
    ] {
        let error = get(&app, &[("host", host)]).await.refused(403);
        assert!(error.contains("Admin::hosts"), "{host}: {error}");
    }
    for host in [
        "",
        "localhost:",
        "localhost:x",
        "localhost:+1",
        "localhost:99999",
        "[::1",
        "user@localhost",
        "local host",
        "a..b",
        "localhost:1:2",
    ] {
        let answer = get(&app, &[("host", host)]).await;
        answer.refused(400);
    }
}

#[tokio::test]
async fn only_the_listed_hosts_are_served() {
    let app = app_at(&["Admin.Example.com", "10.0.0.7:8080"], &[]);
    for host in [
        "admin.example.com",
        "admin.example.com:444",
        "ADMIN.example.com.",
        "10.0.0.7:8080",
    ] {
        get(&app, &[("host", host)]).await.json();
    }
    for host in [
        "localhost",
        "10.0.0.7",
        "10.0.0.7:80",
        "xadmin.example.com",
        "admin.example.com.evil.com",
    ] {
        get(&app, &[("host", host)]).await.refused(403);
    }
}

#[tokio::test]
async fn a_request_names_one_host() {
    let app = World::new().app();
    get(&app, &[]).await.refused_with(400, "Host");
    get(&app, &[("host", "localhost"), ("host", "localhost")])
        .await
        .refused_with(400, "twice");
    let both = |uri: &'static str, host: &'static str| {
        Request::get(uri)
            .header("host", host)
            .body(Body::empty())
            .unwrap()
    };
    app.send(both("http://localhost/status", "localhost"))
        .await
        .json();
    app.send(both("http://localhost/status", "evil.example"))
        .await
        .refused_with(400, "two different");
    app.send(both("http://evil.example/status", "localhost"))
        .await
        .refused_with(400, "two different");
    let of_uri = Request::get("http://localhost:80/status")
        .body(Body::empty())
        .unwrap();
    app.send(of_uri).await.json();
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_are_allowed() {
    let app = World::new().app();
    let host = [("host", "localhost"), JSON];
    for (method, path, allow) in [
        ("GET", "/control", "POST"),
        ("PUT", "/control", "POST"),
        ("OPTIONS", "/control", "POST"),
        ("POST", "/status", "GET, HEAD"),
        ("POST", "/", "GET, HEAD"),
        ("DELETE", "/timeline", "GET, HEAD"),
        ("POST", "/events", "GET, HEAD"),
    ] {
        let answer = send(&app, method, path, &host, TRIP).await;
        assert!(answer.refused(405).contains(allow));
        assert_eq!(answer.headers["allow"], allow);
    }
    assert_eq!(send(&app, "HEAD", "/events", &host, "").await.status, 200);
}

#[tokio::test]
async fn each_response_has_the_security_headers() {
    let app = World::new().app();
    for path in [
        "/",
        "/?style",
        "/?script",
        "/status",
        "/nothing",
        "/status?limit=0",
    ] {
        let headers = app.get(path).await.headers;
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{path}"
        );
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
        assert_eq!(
            headers["cross-origin-resource-policy"], "same-origin",
            "{path}"
        );
        assert!(
            !headers.contains_key("access-control-allow-origin"),
            "{path}"
        );
    }
}
