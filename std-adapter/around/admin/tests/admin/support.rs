// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registry, a breaker, and an admin that shows them; requests and responses.

use std::net::SocketAddr;
use std::sync::Arc;

use atomic_breaker_admin::{Admin, Operator, Recorder, Timeline};
use atomic_breaker_server::{
    AnyPermit, Breaker, Config, Failure, Guard, Outcome, Registry, Resource, StdClock,
    word::NativeWord,
};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::{Extension, Router};
use serde_json::Value;
use tower::ServiceExt;

pub(crate) type Hosts = Registry<String, StdClock, (), Recorder>;
pub(crate) type Payments = Resource<Breaker<StdClock, NativeWord, (), Recorder>>;

/// A service with a registry and a breaker.
pub(crate) struct World {
    pub(crate) timeline: Timeline,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) payments: Arc<Payments>,
}

pub(crate) const RULES: Config = Config::new().consecutive_failures(2);

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Timeline::new(), RULES, 64)
    }

    pub(crate) fn with(timeline: Timeline, rules: Config, capacity: usize) -> Self {
        let hosts = Registry::builder(rules)
            .capacity(capacity)
            .observer(timeline.recorder("hosts"))
            .build()
            .unwrap();
        let payments = Breaker::builder(rules, StdClock)
            .observer(timeline.recorder("payments"))
            .build();
        Self {
            timeline,
            hosts: Arc::new(hosts),
            payments: Arc::new(Resource::new(payments)),
        }
    }

    pub(crate) fn admin(&self) -> Admin {
        Admin::new(&self.timeline)
            .registry("hosts", Arc::clone(&self.hosts))
            .resource("payments", Arc::clone(&self.payments))
    }

    /// As alice.
    pub(crate) fn app(&self) -> App {
        App::of(self.admin())
    }

    /// A failure of a key, by these words.
    pub(crate) fn fail(&self, key: &str) {
        if let Ok(permit) = self.hosts.of(key.to_owned()).acquire() {
            let outcome = Outcome::Failure(Failure::new());
            let _ = permit.report_because(outcome, || "503 Service Unavailable".to_owned());
        }
    }

    pub(crate) fn trip(&self, key: &str) {
        self.fail(key);
        self.fail(key);
    }
}

/// A router, and who asks it.
#[derive(Clone)]
pub(crate) struct App(pub(crate) Router);

impl App {
    pub(crate) fn of(admin: Admin) -> Self {
        Self(
            admin
                .router()
                .unwrap()
                .layer(Extension(Operator::new("alice"))),
        )
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).header("host", "localhost");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn change(&self, change: &Value) -> Answer {
        let request = Request::post("/control")
            .header("host", "localhost")
            .header("content-type", "application/json");
        self.send(request.body(Body::from(change.to_string())).unwrap())
            .await
    }

    pub(crate) async fn refuses(&self, change: &Value, status: u16, words: &str) {
        self.change(change).await.refused_with(status, words);
    }

    /// Makes a change, and returns the result.
    pub(crate) async fn changed(&self, change: Value) -> Value {
        self.change(&change).await.json()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.0.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 64 << 20).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// A server on loopback, for as long as the runtime is there.
    pub(crate) async fn serve(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = self.0.clone();
        tokio::spawn(async move { axum::serve(listener, app).await });
        address
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }

    /// The words of a refusal.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        let answer: Value = serde_json::from_str(&self.body).unwrap();
        answer["error"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn refused_with(&self, status: u16, words: &str) {
        let error = self.refused(status);
        assert!(error.contains(words), "{error}");
    }
}

/// It has these fields, and may have others.
#[track_caller]
pub(crate) fn assert_has(it: &Value, fields: &Value) {
    for (name, field) in fields.as_object().unwrap() {
        assert_eq!(it[name], *field, "{name} in {it}");
    }
}
