// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests with headers as they come.

use crate::support::{Answer, App, World};
use axum::body::Body;
use axum::http::Request;

pub(crate) fn app_at(hosts: &[&str], origins: &[&str]) -> App {
    let admin = World::new()
        .admin()
        .hosts(hosts.to_vec())
        .origins(origins.to_vec());
    App::of(admin)
}

pub(crate) async fn get(app: &App, headers: &[(&str, &str)]) -> Answer {
    send(app, "GET", "/status", headers, "").await
}

pub(crate) const TRIP: &str = r#"{"of":"payments","do":"trip"}"#;

pub(crate) async fn post(app: &App, headers: &[(&str, &str)]) -> Answer {
    send(app, "POST", "/control", headers, TRIP).await
}

pub(crate) async fn send(
    app: &App,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &'static str,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    app.send(request.body(Body::from(body)).unwrap()).await
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
