// SPDX-License-Identifier: MIT OR Apache-2.0
//! Below a path, behind proxies, over HTTP/2.

use crate::support::{App, World};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tower::ServiceExt;

#[tokio::test]
async fn the_page_and_its_files_are_found_with_and_without_a_slash() {
    let world = World::new();
    let admin = world.app().0;
    let below = App(Router::new().nest_service("/deep/breakers", admin.clone()));
    let at_root = App(Router::new().fallback_service(admin.clone()));
    let nested = App(Router::new().nest("/breakers", admin));
    for (app, path) in [
        (&below, "/deep/breakers"),
        (&below, "/deep/breakers/"),
        (&at_root, "/"),
        (&nested, "/breakers"),
    ] {
        let page = app.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(
            page.headers["content-type"], "text/html; charset=utf-8",
            "{path}"
        );
        // By a query alone, which browsers append to the path of the page.
        for (asset, kind) in [
            ("?style", "text/css"),
            ("?script", "text/javascript"),
            ("?icon", "image/svg+xml"),
        ] {
            assert!(page.body.contains(&format!("\"{asset}\"")), "{asset}");
            let answer = app.get(&format!("{path}{asset}")).await;
            assert!(
                answer.headers["content-type"]
                    .to_str()
                    .unwrap()
                    .starts_with(kind),
                "{path}{asset}"
            );
        }
        let status = format!("{}/status", path.trim_end_matches('/'));
        assert_eq!(app.get(&status).await.json()["operator"], "alice", "{path}");
    }
}

#[tokio::test]
async fn the_page_names_no_other_host_and_has_no_inline_code() {
    let app = World::new().app();
    let page = app.get("/").await.body;
    assert!(
        !page.contains("style=") && !page.contains("onclick") && !page.contains("<style"),
        "inline"
    );
    assert_eq!(page.matches("<script").count(), 1);
    for asset in ["/", "/?style", "/?script"] {
        let text = app.get(asset).await.body;
        assert!(
            !text.contains("http://") && !text.contains("https://") && !text.contains("//cdn"),
            "{asset}"
        );
    }
    let script = app.get("/?script").await.body;
    for sink in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
    ] {
        assert!(!script.contains(sink), "{sink}");
    }
}

/// A proxy that takes a prefix off and passes the rest on.
async fn strip(to: std::net::SocketAddr, request: Request<Body>) -> Response<Body> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().unwrap().as_str();
    let stripped = path.strip_prefix("/prefix").unwrap();
    parts.uri = format!("http://{to}/{}", stripped.trim_start_matches('/'))
        .parse::<Uri>()
        .unwrap();
    client
        .request(Request::from_parts(parts, body))
        .await
        .unwrap()
        .map(Body::new)
}

#[tokio::test]
async fn a_proxy_may_strip_a_prefix() {
    let world = World::new();
    let address = world.app().serve().await;
    let proxy = App(Router::new().fallback(move |request: Request<Body>| strip(address, request)));
    for path in [
        "/prefix",
        "/prefix/",
        "/prefix?script",
        "/prefix/?script",
        "/prefix/status",
    ] {
        let request = Request::get(path)
            .header("host", "localhost:1234")
            .body(Body::empty())
            .unwrap();
        assert_eq!(proxy.send(request).await.status, 200, "{path}");
    }
    let post = Request::post("/prefix/control")
        .header("host", "localhost:1234")
        .header("origin", "http://localhost:1234")
        .header("content-type", "application/json")
        .body(Body::from(r#"{"of":"payments","do":"trip"}"#));
    assert_eq!(proxy.send(post.unwrap()).await.json()["changed"], true);
}

#[tokio::test]
async fn over_http_2_the_authority_is_the_host() {
    let address = World::new().app().serve().await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http::<Body>();
    let get = |uri: String| {
        Request::get(uri)
            .version(Version::HTTP_2)
            .body(Body::empty())
            .unwrap()
    };
    let answer = client
        .request(get(format!("http://{address}/status")))
        .await
        .unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.version()),
        (200, Version::HTTP_2)
    );
    let mut foreign = get(format!("http://{address}/status"));
    foreign
        .headers_mut()
        .insert("host", "evil.example".parse().unwrap());
    let answer = client.request(foreign).await.unwrap();
    assert_eq!(answer.status(), 400, "two hosts");
    let post = Request::post(format!("http://{address}/control"))
        .header("content-type", "application/json")
        .header("origin", format!("http://{address}"))
        .body(Body::from(r#"{"of":"payments","do":"trip"}"#));
    let answer = client.request(post.unwrap()).await.unwrap();
    let status = answer.status();
    let body = to_bytes(Body::new(answer.into_body()), 1 << 20)
        .await
        .unwrap();
    assert_eq!(status, 200, "{body:?}");
}

#[tokio::test]
async fn a_service_with_state_nests_it() {
    let world = World::new();
    let admin = world.admin().unauthenticated().router().unwrap();
    let app: Router = Router::new().nest("/breakers", admin).with_state(7_u8);
    let request = Request::get("/breakers/status")
        .header("host", "localhost")
        .body(Body::empty());
    assert_eq!(app.oneshot(request.unwrap()).await.unwrap().status(), 200);
}
