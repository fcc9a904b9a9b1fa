// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router: authentication around the admin.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_admin::{Admin, Operator, Recorder, Timeline};
use atomic_breaker_server::{Breaker, Config, Registry, Resource, StdClock, word::NativeWord};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(1))
    .exponential(2, Duration::from_secs(30))
    .jitter_percent(20);

/// The called resources: hosts, and a database.
pub(crate) struct Service {
    pub(crate) timeline: Timeline,
    pub(crate) hosts: Arc<Registry<Arc<str>, StdClock, (), Recorder>>,
    pub(crate) database: Arc<Resource<Breaker<StdClock, NativeWord, (), Recorder>>>,
}

impl Service {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let timeline = Timeline::new();
        let hosts = Registry::builder(RULES)
            .observer(timeline.recorder("hosts"))
            .build()?;
        let database = Breaker::builder(RULES, StdClock)
            .observer(timeline.recorder("database"))
            .build();
        Ok(Self {
            timeline,
            hosts: Arc::new(hosts),
            database: Arc::new(Resource::new(database)),
        })
    }
}

pub(crate) fn router(service: &Service) -> Result<Router, Box<dyn Error>> {
    let admin = Admin::new(&service.timeline)
        .title("shop, development")
        .registry("hosts", Arc::clone(&service.hosts))
        .resource("database", Arc::clone(&service.database))
        .router()?
        .layer(from_fn(authenticate));
    Ok(Router::new().nest_service("/breakers", admin))
}

/// Stands for the sessions, tokens or certificates of a real service. Here alice's password is `secret`.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(AUTHORIZATION);
    if given.is_none_or(|given| given != "Basic YWxpY2U6c2VjcmV0") {
        let challenge = [(WWW_AUTHENTICATE, "Basic realm=\"alice, secret\"")];
        return (
            StatusCode::UNAUTHORIZED,
            challenge,
            "as alice, with the password: secret",
        )
            .into_response();
    }
    request.extensions_mut().insert(Operator::new("alice"));
    next.run(request).await
}
