// SPDX-License-Identifier: MIT OR Apache-2.0
//! A check that the reported state is the true one: the admin's status, the metrics, and every
//! transition once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use atomic_breaker::Transition;
use atomic_breaker_admin::{Admin, Operator, Timeline};
use atomic_breaker_http::{Origin, State};
use atomic_breaker_observe::publish;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::{Extension, Router};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::Value;
use tower::ServiceExt;

use crate::client::Guard;
use crate::trace::{self, holds, note};

/// The reports of one instance on its breakers.
pub(crate) struct Shown {
    name: String,
    counted: Arc<Mutex<Counted>>,
    of: OnceLock<(Guard, Router)>,
}

#[derive(Default)]
struct Counted {
    /// Transitions to this state.
    to: BTreeMap<&'static str, u64>,
    /// The last state of each key.
    last: BTreeMap<String, State>,
    /// The open time of each key that has opened, the last one, and when it ended.
    opened: BTreeMap<String, (Duration, Duration)>,
}

fn label(state: State) -> String {
    state.name().replace([' ', '-'], "_")
}

impl Shown {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            counted: Arc::default(),
            of: OnceLock::new(),
        }
    }

    /// Counts transitions by itself.
    pub(crate) fn counter(&self) -> impl Fn(&Origin, &Transition) + Send + Sync + use<> {
        let (name, counted) = (self.name.clone(), Arc::clone(&self.counted));
        move |key, made| {
            note!(
                "{name} to {key}: {:?} to {:?}, {:?}, epoch {}",
                made.from,
                made.to,
                made.cause,
                made.epoch
            );
            let counted = &mut *counted.lock().unwrap();
            *counted.to.entry(made.to.name()).or_default() += 1;
            counted.last.insert(key.to_string(), made.to);
            let opened = counted.opened.entry(key.to_string()).or_default();
            match made.to {
                State::Open => opened.0 = made.open_for().unwrap_or_default(),
                State::HalfOpen => opened.1 = trace::time(),
                _ => {}
            }
        }
    }

    pub(crate) fn of(self, guard: Guard, timeline: &Timeline) -> Self {
        let admin = Admin::new(timeline).registry("hosts", guard.hosts());
        let router = admin.router().expect("settings that fit");
        let router = router.layer(Extension(Operator::new("alice")));
        assert!(self.of.set((guard, router)).is_ok());
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The open time of a key, the last one, and for how long it has been over.
    pub(crate) fn opened(&self, key: &Origin) -> (Duration, Duration) {
        let counted = self.counted.lock().unwrap();
        let opened = counted.opened.get(&key.to_string());
        opened.map_or_else(Default::default, |(open, ended)| {
            (*open, trace::time().saturating_sub(*ended))
        })
    }

    /// At a moment at which nothing changes.
    pub(crate) async fn check(&self) {
        let (guard, router) = self.of.get().expect("built");
        let entries = guard.hosts().entries();
        let is: BTreeMap<String, State> = entries
            .map(|entry| (entry.key.to_string(), entry.snapshot.state()))
            .collect();
        self.check_admin(router, &is).await;
        self.check_transitions(&is);
        self.check_metrics(&is);
    }

    async fn check_admin(&self, router: &Router, is: &BTreeMap<String, State>) {
        let request = Request::get("/status").header("host", "localhost");
        let request = request.body(Body::empty()).expect("a path");
        let response = router.clone().oneshot(request).await.expect("infallible");
        let body = to_bytes(response.into_body(), 1 << 20)
            .await
            .expect("in memory");
        let status: Value = serde_json::from_slice(&body).expect("JSON");
        let none = Vec::new();
        let entries = status["entries"].as_array().unwrap_or(&none);
        let shown: BTreeMap<String, &str> = entries
            .iter()
            .map(|entry| {
                let text = |field: &str| entry[field].as_str().unwrap_or_default();
                (text("key").to_owned(), text("state"))
            })
            .collect();
        let is: BTreeMap<String, String> = is
            .iter()
            .map(|(key, state)| (key.clone(), state.name().replace(' ', "-")))
            .collect();
        let same = shown.len() == is.len()
            && is
                .iter()
                .all(|(key, state)| shown.get(key) == Some(&state.as_str()));
        holds!(
            "what is shown is what is",
            same,
            "{}: the admin shows {shown:?}, and it is {is:?}",
            self.name
        );
    }

    /// Observers have heard of the last transition of each key.
    fn check_transitions(&self, is: &BTreeMap<String, State>) {
        let counted = self.counted.lock().unwrap();
        for (key, state) in is {
            let last = counted.last.get(key).copied().unwrap_or(State::Closed);
            holds!(
                "what is shown is what is",
                last == *state,
                "{}: {key} was last reported as {last:?}, and is {state:?}",
                self.name
            );
        }
    }

    fn check_metrics(&self, is: &BTreeMap<String, State>) {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, publish);
        let page = recorder.handle().render();
        let sum = |metric: &str, state: &str| -> u64 {
            let name = format!("circuit_breaker_name=\"{}\"", self.name);
            let state = format!("circuit_breaker_state=\"{state}\"");
            let lines = page.lines().filter(|line| {
                line.starts_with(metric) && line.contains(&name) && line.contains(&state)
            });
            let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
            values.sum()
        };
        let counted = self.counted.lock().unwrap();
        for &state in State::ALL {
            let shown = sum("circuit_breaker_breakers{", &label(state));
            let are = is.values().filter(|is| **is == state).count() as u64;
            holds!(
                "what is shown is what is",
                shown == are,
                "{}: the gauge shows {shown} that are {state:?}, and {are} are: {page}",
                self.name
            );
            let shown = sum("circuit_breaker_transitions{", &label(state));
            let were = counted.to.get(state.name()).copied().unwrap_or(0);
            holds!(
                "counters add up",
                shown == were,
                "{}: {shown} transitions to {state:?} are counted, of {were}",
                self.name
            );
        }
    }
}
