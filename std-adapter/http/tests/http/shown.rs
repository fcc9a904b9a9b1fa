// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug output of layers, guards and classifiers: their settings, and nothing that was given to them to keep.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    ClientConfig, ClientGuard, ClientLayer, ErrorRule, Failure, GrpcClassifier, HttpClassifier,
    KeyedObserver, Origin, Outcome, Scope, StdClock,
};
use http::{Request, Response, Uri};
use tower::{Layer, service_fn};

/// A rule, an observer and a client that know a password.
#[derive(Clone, Copy, Debug)]
struct Knows {
    _password: &'static str,
}

const KNOWS: Knows = Knows {
    _password: "S3CR3T",
};

impl<E> ErrorRule<E> for Knows {
    fn judge(&self, _: &E) -> (Outcome, Scope) {
        (Failure::new().into(), Scope::Call)
    }
}

impl KeyedObserver<Origin> for Knows {}

/// On one line and on several, as logs have them.
#[track_caller]
fn shows(it: &impl Debug, parts: &[&str]) {
    for text in [format!("{it:?}"), format!("{it:#?}")] {
        assert!(!text.contains("S3CR3T"), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn classifiers_show_their_settings_and_no_rule() {
    assert!(format!("{KNOWS:?}").contains("S3CR3T"), "it would be seen");
    let minute = Duration::from_secs(60);
    let http = HttpClassifier::new()
        .max_retry_after(minute)
        .trip_on_429(true)
        .errors(KNOWS);
    let of_http = [
        "HttpClassifier",
        "max_retry_after: 60s",
        "trip_on_429: true",
    ];
    shows(&http, &of_http);
    let at_end = http.at_end_of_body().body_errors(KNOWS).probes_at_end();
    shows(&at_end, &of_http);
    shows(&at_end, &["AtEnd", "rules: ", "probes_wait: true"]);
    let grpc = GrpcClassifier::new().max_push_back(minute).errors(KNOWS);
    shows(&grpc, &["GrpcClassifier", "max_push_back: 60s"]);
}

#[test]
fn a_guard_and_its_layers_show_settings_and_nothing_they_keep() {
    let plan = ClientConfig::new().outliving(27);
    let guard = Arc::new(ClientGuard::with(plan, StdClock, KNOWS).unwrap());
    let settings = ["ClientGuard", "config: ClientConfig", "outliving: 27"];
    shows(&guard, &settings);
    let uri = Uri::from_static("https://user:S3CR3T@a.example/");
    let layer = ClientLayer::new(Arc::clone(&guard))
        .with_origin(Origin::from_uri(&uri).unwrap())
        .errors(KNOWS);
    shows(&layer, &settings);
    shows(&layer, &["ClientLayer", "guard: "]);
    let client = layer.layer(service_fn(|_: Request<String>| {
        let _ = KNOWS;
        ready(Ok::<_, Infallible>(Response::new(String::new())))
    }));
    shows(&client, &["ClientService"]);
    let check = guard.health_check("/health?key=S3CR3T").unwrap();
    let check = check
        .every(Duration::from_secs(7))
        .answers(3)
        .time_limit(Duration::from_secs(2))
        .at_once(4);
    let of_check = ["every: 7s", "answers: 3", "time_limit: 2s", "at_once: 4"];
    shows(&check, &of_check);
    shows(&check, &["HealthCheck"]);
}

#[test]
fn an_origin_shows_the_host_and_no_password() {
    let uri = Uri::from_static("https://user:S3CR3T@API.example:8443/items?key=S3CR3T");
    let origin = Origin::from_uri(&uri).unwrap();
    assert_eq!(format!("{origin:?}"), "Origin(https://api.example:8443)");
    shows(&origin, &["https://api.example:8443"]);
}
