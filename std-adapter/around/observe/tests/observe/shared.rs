// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that other processes have opened, about which nothing is notified here.

use std::sync::Arc;

use atomic_breaker_mapped::{BootClock, Breaker, Config, MappedBuilder, MappedSlab, State};
use atomic_breaker_observe::{Metrics, OfKeys};

use crate::support::Page;

fn page_has(line: &str) -> bool {
    let page = Page::now().0;
    page.lines().any(|it| it == line)
}

fn states(name: &str, state: &str, count: u32) -> bool {
    page_has(&format!(
        "circuit_breaker_breakers{{circuit_breaker_name=\"{name}\",circuit_breaker_state=\"{state}\"}} {count}"
    ))
}

fn key(metric: &str, name: &str, key: &str, value: u32) -> bool {
    page_has(&format!(
        "circuit_breaker_{metric}{{circuit_breaker_name=\"{name}\",circuit_breaker_key=\"{key}\"}} {value}"
    ))
}

#[test]
fn a_state_that_another_process_has_changed_is_looked_up() {
    let builder = MappedBuilder::new(Config::new()).observer(Metrics::new("mapped"));
    let database = Arc::new(builder.for_forks().unwrap());
    let elsewhere = Breaker::shared(database.word().clone(), Config::new(), BootClock);
    elsewhere.trip();
    assert!(states("mapped", "closed", 1), "nothing was notified");
    database.observer().watch_state(&database);
    assert!(states("mapped", "open", 1) && states("mapped", "closed", 0));
    let down = |since: &str| {
        Page::now().0.contains(&format!(
            "down_since{{circuit_breaker_name=\"mapped\"}} {since}"
        ))
    };
    assert!(!down("0\n"));
    elsewhere.reset();
    assert!(states("mapped", "closed", 1) && down("0\n"));
    // Its own transitions count as before, and one breaker stays one.
    database.trip();
    assert!(states("mapped", "open", 1) && states("mapped", "closed", 0));
    drop(database);
    assert!(states("mapped", "open", 0), "it is gone");
}

#[test]
fn a_breaker_that_is_gone_is_not_shown_though_its_metrics_are_shared() {
    let metrics = Arc::new(Metrics::new("gone"));
    let builder = MappedBuilder::new(Config::new()).observer(Arc::clone(&metrics));
    let database = Arc::new(builder.for_forks().unwrap());
    metrics.watch_state(&database);
    database.trip();
    assert!(states("gone", "open", 1));
    drop(database);
    assert!(states("gone", "open", 0));
}

#[test]
fn keys_that_another_process_has_opened_are_shown_under_their_names() {
    let metrics: Metrics<OfKeys> = Metrics::new("slab").max_keys(2);
    let rules = Config::new().consecutive_failures(1);
    let hosts = Arc::new(MappedSlab::builder(rules).for_forks().unwrap());
    metrics.watch_slab(&hosts);
    for key in ["a.example", "b.example"] {
        hosts.breaker(key).unwrap().acquire().unwrap().failure();
    }
    assert!(states("slab", "open", 2));
    assert!(key("key_open", "slab", "a.example", 1));
    assert!(key("key_open", "slab", "other", 0));
    hosts.get("a.example").unwrap().reset();
    assert!(key("key_open", "slab", "a.example", 0));
    assert!(key("key_down_since", "slab", "a.example", 0));
    assert_eq!(hosts.get("b.example").unwrap().state(), State::Open);
    // There is no label for a third one.
    hosts.breaker("c.example").unwrap().trip();
    assert!(key("key_open", "slab", "other", 1));
    drop(hosts);
    assert!(states("slab", "open", 0), "it is gone");
}
