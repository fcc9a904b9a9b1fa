// SPDX-License-Identifier: MIT OR Apache-2.0
//! An operator who commands a key while it is called.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use atomic_breaker_admin::{Admin, Operator, Timeline};
use atomic_breaker_http::{Guard, Registry, State, TokioClock};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::{Extension, Router};
use serde_json::{Value, json};
use tower::ServiceExt;

use test_support::week::{Host, config, protects, week};

/// The state of the key that fails.
async fn change(app: &Router, mut change: Value) -> Value {
    change["of"] = "hosts".into();
    if change["do"] != "set-rules" {
        change["key"] = "a.example".into();
    }
    let request = Request::post("/control")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Body::from(change.to_string()))
        .unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{change}");
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Trips a healthy key, resets and probes a failing one in vain, replaces its rules, and forces it open for a minute.
#[tokio::test(start_paused = true)]
async fn commands_and_rules_while_a_key_fails() {
    let (host, timeline) = (Host::default(), Timeline::new());
    let hosts = Registry::<String>::builder(config())
        .clock(TokioClock)
        .observer(timeline.recorder("hosts"))
        .build();
    let hosts = Arc::new(hosts.unwrap());
    let app = Admin::new(&timeline)
        .registry("hosts", Arc::clone(&hosts))
        .router()
        .unwrap()
        .layer(Extension(Operator::new("alice")));
    let number = AtomicU32::new(0);
    let ask = || async {
        let number = number.fetch_add(1, Relaxed);
        // The number of commands between one outage and the next.
        let command = match number % 5_629 {
            // The same while the host is down.
            1_000 => Some(json!({ "do": "reset" })),
            1_500 => Some(json!({ "do": "probe-now" })),
            2_000 => Some(json!({ "do": "force-open" })),
            2_060 => Some(json!({ "do": "release" })),
            2_500 => Some(json!({ "do": "set-rules", "rules": {
                "consecutive_failures": 3, "open_for_ms": 30_000 } })),
            3_000 => Some(json!({ "do": "trip", "for_ms": 120_000 })),
            _ => None,
        };
        if let Some(command) = command {
            let done = change(&app, command.clone()).await;
            assert!(done["error"].is_null(), "{command}: {done}");
            let entry = hosts.entry(&"a.example".to_owned());
            let is_forced = entry.is_some_and(|entry| entry.snapshot.state() == State::ForcedOpen);
            assert_eq!(
                is_forced,
                command["do"] == "force-open",
                "{command}: {done}"
            );
        }
        hosts
            .of("a.example".to_owned())
            .call_async(|| host.answer())
            .await
            .is_ok()
    };
    let seen = week(&host, ask).await;
    protects(&seen, 200);
}
