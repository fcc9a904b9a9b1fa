// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests to the admin's router, with any path, query, headers and body: whoever may not change anything does not, and
//! every answer says what it is.

use std::sync::Arc;

use atomic_breaker_admin::{Admin, Operator, Timeline};
use atomic_breaker_server::word::NativeWord;
use atomic_breaker_server::{Breaker, Config, Guard, Registry, Resource, Snapshot, TokioClock};
use atomic_breaker_steps::{Filter, Job, Lane, MemoryStore, StepError, Steps, Store, Workflow};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

const RULES: Config = Config::new().consecutive_failures(2);

/// A service that shows a registry, a breaker and jobs.
struct Service {
    payments: Arc<Resource<Breaker<TokioClock, NativeWord>>>,
    hosts: Arc<Registry<String, TokioClock>>,
    store: MemoryStore,
    app: Router,
}

/// Everything that an operator may change.
#[derive(Debug, PartialEq)]
struct Shown {
    payments: Snapshot,
    percent: u8,
    hosts: Vec<(String, Snapshot, Config)>,
    jobs: Vec<Job>,
}

impl Service {
    async fn new() -> Self {
        let payments = Arc::new(Resource::new(Breaker::new(RULES, TokioClock)));
        let hosts = Arc::new(
            Registry::builder(RULES)
                .clock(TokioClock)
                .capacity(8)
                .build()
                .expect("rules"),
        );
        for key in ["a", "b<\"&"] {
            let _ = hosts.of(key.to_owned()).call(|| Err::<(), _>("no answer"));
        }
        let store = MemoryStore::new();
        let orders: Workflow<String> =
            Workflow::new("order").step("invoice", "billing", async |state| {
                Ok::<_, StepError>(state)
            });
        let job = orders.job("7", &"secret".to_owned()).expect("a job");
        store.put(&job, None).await.expect("room");
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("billing"))
            .workflow(&orders);
        let steps = steps.build().expect("steps");
        let admin = Admin::new(&Timeline::new())
            .registry("hosts", Arc::clone(&hosts))
            .resource("payments", Arc::clone(&payments))
            .steps("office", &steps);
        Self {
            payments,
            hosts,
            store,
            app: admin.router().expect("settings"),
        }
    }

    async fn shown(&self) -> Shown {
        let hosts = self.hosts.entries().map(|entry| {
            (
                entry.key.to_string(),
                entry.snapshot,
                self.hosts.config_of(&entry.key),
            )
        });
        let mut hosts: Vec<_> = hosts.collect();
        hosts.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        Shown {
            payments: self.payments.breaker().snapshot(),
            percent: self.payments.enforcement().percent(),
            hosts,
            jobs: self.store.list(&Filter::default(), 9).await.expect("jobs"),
        }
    }
}

/// The client that asks, and its address.
struct Asked {
    request: Request<Body>,
    may_change: bool,
    is_dry: bool,
    body: serde_json::Value,
}

impl Asked {
    /// Returns whether the operator saw something else than there is now.
    fn is_stale(&self, now: &Shown) -> bool {
        let body = &self.body;
        match self.request.uri().path() {
            "/control" => {
                body["of"] == "payments" && is_another(&body["epoch"], &now.payments.epoch().into())
            }
            "/jobs/control" => is_another(&body["status"], &now.jobs[0].status.name().into()),
            _ => false,
        }
    }
}

fn is_another(seen: &serde_json::Value, now: &serde_json::Value) -> bool {
    !seen.is_null() && seen != now
}

/// The first byte says who, whence and how; a space ends the path.
fn asked(line: &[u8]) -> Option<Asked> {
    let (how, rest) = line.split_first()?;
    let how = usize::from(*how);
    let end = rest.iter().position(|byte| *byte == b' ');
    let (path, body) = rest.split_at(end.unwrap_or(rest.len()));
    let body = body.strip_prefix(b" ").unwrap_or_default();
    let uri: Uri = std::str::from_utf8(path).ok()?.parse().ok()?;
    let method = [Method::POST, Method::POST, Method::GET, Method::PUT][how % 4].clone();
    let host = ["localhost", "localhost", "127.0.0.1:80", "evil.example"][how / 4 % 4];
    let origin = [
        "",
        "http://localhost",
        "null",
        "https://localhost.evil.example",
    ][how / 16 % 4];
    let kind = ["application/json", "application/json", "text/plain", ""][how / 64 % 4];
    let operator = match body.len() % 8 {
        0 => Some(Operator::viewer("bob")),
        1 => None,
        _ => Some(Operator::new("alice")),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header("host", host);
    if !origin.is_empty() {
        request = request.header("origin", origin);
    }
    if !kind.is_empty() {
        request = request.header("content-type", kind);
    }
    let is_alice = body.len() % 8 > 1;
    let is_home = host != "evil.example" && !origin.ends_with("null") && !origin.contains("evil");
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let is_dry = json["dry_run"] == true;
    let mut request = request.body(Body::from(body.to_vec())).ok()?;
    let may_change =
        is_alice && is_home && kind == "application/json" && request.method() == Method::POST;
    if let Some(operator) = operator {
        request.extensions_mut().insert(operator);
    }
    Some(Asked {
        request,
        may_change,
        is_dry,
        body: json,
    })
}

/// Checks the headers that a browser must get with every answer.
fn is_guarded(headers: &HeaderMap) {
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert!(
            headers.get(name).is_some_and(|it| it == value),
            "{name}: {headers:?}"
        );
    }
    assert!(headers.contains_key("content-security-policy"));
}

async fn serves(bytes: &[u8]) {
    let service = Service::new().await;
    for line in bytes.split(|byte| *byte == b'\n').take(6) {
        let Some(asked) = asked(line) else { continue };
        let path = asked.request.uri().path().to_owned();
        let before = service.shown().await;
        let (is_stale, may_change, is_dry) =
            (asked.is_stale(&before), asked.may_change, asked.is_dry);
        let response = service
            .app
            .clone()
            .oneshot(asked.request)
            .await
            .expect("an answer");
        let (parts, body) = response.into_parts();
        is_guarded(&parts.headers);
        let status = parts.status;
        assert!(
            status.is_success() || status.is_client_error(),
            "{status} of {path}"
        );
        let after = service.shown().await;
        let is_refused = status.is_client_error();
        if !may_change || is_refused || is_dry {
            assert_eq!(before, after, "{status} of {path}");
        }
        let must_refuse = path.ends_with("control") && (!may_change || is_stale);
        assert!(!must_refuse || is_refused, "{status} of {path}");
        if is_refused {
            assert!(status != StatusCode::NOT_FOUND || !body_of(body).await.is_empty());
        } else if parts.headers["content-type"] == "application/json" {
            let body = body_of(body).await;
            serde_json::from_slice::<serde_json::Value>(&body).expect("JSON, as it says");
        }
    }
}

async fn body_of(body: Body) -> Vec<u8> {
    to_bytes(body, 1 << 20)
        .await
        .expect("a body that ends")
        .to_vec()
}

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
}

pub(crate) fn requests(bytes: &[u8]) {
    RUNTIME.with(|runtime| runtime.block_on(serves(bytes)));
}
