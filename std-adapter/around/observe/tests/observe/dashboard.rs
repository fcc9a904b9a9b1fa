// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dashboard and the emitted metrics: each contains every name of the other. Alerts, and what the runbook says.

use std::collections::BTreeSet;
use std::sync::Arc;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_observe::Metrics;
use atomic_breaker_server::{Registry, RetryCounts};
use atomic_breaker_steps::{Lane, MemoryStore, StepError, Steps, Workflow};
use serde_json::Value;

use crate::support::{Page, RULES, SECOND};

const DASHBOARD: &str = include_str!("../../../docs/grafana.json");
const ALERTS: &str = include_str!("../../../docs/alerts.yml");
const RUNBOOK: &str = include_str!("../../../docs/runbook.md");
const PAGE: &str = include_str!("../../../docs/observability.md");

/// Metrics and labels as Prometheus has them.
fn emitted() -> BTreeSet<String> {
    let metrics = Metrics::new("dashboard").named(["a"]);
    let hosts = Registry::<String>::builder(RULES).observer(metrics.clone());
    let hosts = Arc::new(hosts.build().unwrap());
    metrics.watch(&hosts);
    let _breaker: Metrics = Metrics::new("dashboard");
    Metrics::new("dashboard").watch_retries(|| RetryCounts::new(|_| 0, 0));
    let page = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(async {
            let workflow = Workflow::new("kind")
                .step("step", "lane", async |state: u32| Ok::<_, StepError>(state));
            let steps = Steps::builder(MemoryStore::new())
                .lane(Lane::new("lane"))
                .workflow(&workflow)
                .observer(Metrics::new("dashboard"))
                .build()
                .unwrap();
            let _worker = steps.work();
            let fleet = Joined::new(InProcess::new(), FleetConfig::new(3)).unwrap();
            Metrics::new("dashboard").watch_fleet(&fleet);
            tokio::time::sleep(SECOND).await;
            Page::now()
        });
    words(&page.0)
}

/// All words with this crate's prefix.
fn words(text: &str) -> BTreeSet<String> {
    text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .filter(|word| word.starts_with("circuit_breaker_"))
        .map(str::to_owned)
        .collect()
}

/// The text that follows these words in a file, line by line.
fn after<'a>(file: &'a str, words: &str) -> Vec<&'a str> {
    let lines = file.lines();
    lines
        .filter_map(|line| Some(line.split_once(words)?.1))
        .collect()
}

/// All queries of the dashboard.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(query) if name == "expr" || name == "query" => {
                        found.push(query.clone());
                    }
                    value => queries(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| queries(value, found)),
        _ => {}
    }
}

#[test]
fn every_name_in_the_dashboard_is_emitted_and_the_other_way_round() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut found = Vec::new();
    queries(&dashboard, &mut found);
    assert!(found.len() > 5);
    assert_eq!(words(&found.join(" ")), emitted());
}

#[test]
fn panels_have_titles_numbers_of_their_own_and_places_that_do_not_overlap() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in panels {
        assert!(
            panel["title"]
                .as_str()
                .is_some_and(|title| !title.is_empty())
        );
        assert!(ids.insert(panel["id"].as_u64().unwrap()));
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        for x in at("x")..at("x") + at("w") {
            assert!(x < 24);
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{}", panel["title"]);
            }
        }
    }
}

#[test]
fn the_page_lists_every_outcome_of_a_call_and_the_share_of_failures_knows_those_of_failures() {
    let _breaker: Metrics = Metrics::new("outcomes");
    let page = Page::now();
    let outcomes: BTreeSet<_> = page
        .0
        .lines()
        .filter(|line| line.starts_with("circuit_breaker_calls{") && line.contains("outcomes"))
        .filter_map(|line| line.split("outcome=\"").nth(1)?.split('"').next())
        .collect();
    let row = PAGE
        .lines()
        .find(|line| line.starts_with("| `circuit_breaker.calls`"));
    let labels = row.unwrap().split('|').nth(3).unwrap();
    let listed: BTreeSet<_> = labels.split('`').skip(1).step_by(2).skip(1).collect();
    assert_eq!(listed, outcomes);
    for part in ["\"failure|slow\\", "\"success|failure|slow\\"] {
        assert!(DASHBOARD.contains(part), "{part}");
    }
}

#[test]
fn the_page_lists_every_name_and_no_other() {
    let dotted: BTreeSet<_> = PAGE
        .split('`')
        .filter(|word| word.starts_with("circuit_breaker."))
        .map(|word| word.replace('.', "_"))
        .collect();
    let fields = [
        "circuit_breaker_previous_state",
        "circuit_breaker_open_duration",
        "circuit_breaker_trips",
        "circuit_breaker_epoch",
        "circuit_breaker_last_failure",
        "circuit_breaker_rejections_left_out",
        "circuit_breaker_retry_in",
        "circuit_breaker_job",
        "circuit_breaker_step",
        "circuit_breaker_events_left_out",
        "circuit_breaker_failures_left_out",
        "circuit_breaker_duration",
        "circuit_breaker_probe",
    ];
    let mut all = emitted();
    all.extend(fields.map(str::to_owned));
    assert_eq!(dotted, all);
}

#[test]
fn every_name_in_an_alert_is_emitted() {
    let recommended = |name: String| {
        let plain = name.strip_suffix("_total").map(str::to_owned);
        plain.unwrap_or(name)
    };
    let emitted = emitted();
    for name in words(ALERTS).into_iter().map(recommended) {
        assert!(emitted.contains(&name), "{name}");
    }
}

#[test]
fn every_alert_has_a_part_of_the_runbook_and_a_link_to_the_page() {
    let alerts = after(ALERTS, "- alert: ");
    let links: Vec<_> = alerts
        .iter()
        .map(|alert| format!("{}\"", alert.to_lowercase()))
        .collect();
    assert_eq!(after(ALERTS, "runbook_url: \"docs/runbook.md#"), links);
    let pages = ALERTS.lines().filter(|line| {
        let value = line.trim_start().strip_prefix("page: ");
        value.is_some_and(|value| value.contains("https://"))
    });
    assert_eq!(pages.count(), alerts.len());
    assert_eq!(after(RUNBOOK, "## "), alerts);
}
