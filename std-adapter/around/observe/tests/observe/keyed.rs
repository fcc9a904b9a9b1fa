// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics of a registry.

use std::sync::Arc;

use atomic_breaker_observe::{Metrics, OfKeys};
use atomic_breaker_server::{AnyPermit, Failure, Guard, ManualClock, Outcome, Registry, State};

use crate::support::{Page, RULES, SECOND};

type Hosts<K> = Registry<K, atomic_breaker_server::StdClock, (), Metrics<OfKeys>>;

fn hosts(metrics: &Metrics<OfKeys>) -> Arc<Hosts<&'static str>> {
    let builder = Registry::builder(RULES).observer(metrics.clone());
    Arc::new(builder.build().unwrap())
}

#[test]
fn calls_of_keys_without_a_slot_are_counted_too() {
    let hosts = hosts(&Metrics::new("slotless"));
    for _ in 0..5 {
        hosts.of("a").call(|| Ok::<_, &str>(())).unwrap();
    }
    hosts.of("a").acquire().unwrap().report(Outcome::Ignored);
    hosts.of("a").acquire().unwrap().cancel();
    assert_eq!(hosts.stats().keys, 0);
    // It has a slot from here on.
    let _ = hosts.of("a").call(|| Err::<(), _>("no answer"));
    hosts.of("a").call(|| Ok::<_, &str>(())).unwrap();
    let page = Page::now();
    let calls = ["success", "failure", "ignored", "cancelled"]
        .map(|outcome| page.calls("slotless", outcome).unwrap());
    assert_eq!(calls, [6, 1, 1, 1]);
}

#[test]
fn calls_that_end_after_their_key_lost_its_slot_are_counted_once() {
    let clock = ManualClock::new();
    let hosts = Registry::builder(RULES)
        .capacity(1)
        .clock(&clock)
        .observer(Metrics::new("evicted-late"))
        .build()
        .unwrap();
    let _ = hosts.of(1).call(|| Err::<(), _>("no answer"));
    let late = [
        hosts.of(1).acquire().unwrap(),
        hosts.of(1).acquire().unwrap(),
    ];
    let cancelled = hosts.of(1).acquire().unwrap();
    // Takes the only slot.
    let _ = hosts.of(2).call(|| Err::<(), _>("no answer"));
    let _ = hosts.of(2).call(|| Err::<(), _>("no answer"));
    assert_eq!(hosts.state(&2), State::Open);
    let [success, failure] = late;
    success.report(Outcome::Success);
    failure.report(Failure::new().into());
    drop(cancelled);
    // There is no slot for it.
    let _ = hosts.of(3).call(|| Err::<(), _>("no answer"));
    let page = Page::now();
    let calls = ["success", "failure", "cancelled"]
        .map(|outcome| page.calls("evicted-late", outcome).unwrap());
    assert_eq!(calls, [1, 5, 1]);
}

#[test]
fn keys_named_ahead_are_there_at_zero_and_count_at_once() {
    let metrics = Metrics::new("named").named(["a"]);
    let hosts = hosts(&metrics);
    let opened = || Page::now().get("key_opened", "named", &[("key", "a")]);
    assert_eq!(opened(), Some(0));
    hosts.command(&"a", |host| host.trip()).unwrap();
    assert_eq!(opened(), Some(1));
}

#[test]
fn beyond_the_limit_all_keys_are_counted_as_other() {
    let metrics = Metrics::new("bounded").max_keys(2).named(["named"]);
    let hosts = hosts(&metrics);
    for key in ["a", "b", "c", "named"] {
        hosts.command(&key, |host| host.trip()).unwrap();
        assert!(hosts.of(key).acquire().is_err());
    }
    Page::now();
    let page = Page::now();
    let opened = |key| page.get("key_opened", "bounded", &[("key", key)]);
    assert_eq!(opened("a"), Some(1));
    assert_eq!(opened("named"), Some(1));
    assert_eq!((opened("b"), opened("c")), (None, None));
    assert_eq!(opened("other"), Some(2));
    let labels = [("key", "other"), ("enforcement", "enforced")];
    assert_eq!(page.get("key_rejections", "bounded", &labels), Some(2));
}

#[test]
fn without_a_bound_each_key_that_opens_has_a_label() {
    let hosts = hosts(&Metrics::new("unbounded").max_keys(usize::MAX));
    hosts.command(&"a", |host| host.trip()).unwrap();
    Page::now();
    let opened = Page::now().get("key_opened", "unbounded", &[("key", "a")]);
    assert_eq!(opened, Some(1));
}

#[test]
fn the_gauge_of_a_key_that_lost_its_slot_falls() {
    let clock = Arc::new(ManualClock::new());
    let metrics = Metrics::new("stale");
    let hosts = Registry::builder(RULES)
        .capacity(1)
        .clock(Arc::clone(&clock))
        .observer(metrics.clone())
        .build()
        .unwrap();
    let hosts = Arc::new(hosts);
    metrics.watch(&hosts);
    // Once is enough.
    metrics.watch(&hosts);
    hosts.command(&1, |host| host.trip()).unwrap();
    let open = |key| Page::now().get("key_open", "stale", &[("key", key)]);
    assert_eq!(open("1"), Some(1));
    assert_eq!(Page::now().breakers("stale", "open"), Some(1));
    clock.advance(SECOND * 60);
    for _ in 0..3 {
        let _ = hosts.of(2).call(|| Err::<(), _>("no answer"));
    }
    assert!(hosts.entry(&1).is_none());
    assert_eq!(open("1"), Some(0));
    assert_eq!(open("2"), Some(1));
    assert_eq!(Page::now().breakers("stale", "open"), Some(1));
    drop(hosts);
    assert_eq!((open("1"), open("2")), (Some(0), Some(0)));
    assert_eq!(Page::now().breakers("stale", "open"), Some(0));
}

#[test]
fn a_registry_that_lives_as_long_as_the_program_is_watched_by_reference() {
    let metrics = Metrics::new("leaked");
    let hosts = Registry::builder(RULES).observer(metrics.clone());
    let hosts: &'static _ = hosts.build().unwrap().leak();
    metrics.watch_static(hosts);
    hosts.command(&"a", |host| host.trip()).unwrap();
    let open = || Page::now().get("key_open", "leaked", &[("key", "a")]);
    assert_eq!(open(), Some(1));
    hosts.command(&"a", |host| host.reset()).unwrap();
    assert_eq!(open(), Some(0));
}

#[test]
fn a_registry_that_is_not_watched_has_no_gauge_that_could_be_wrong() {
    let hosts = hosts(&Metrics::new("unwatched"));
    hosts.command(&"a", |host| host.trip()).unwrap();
    let page = Page::now();
    assert_eq!(page.breakers("unwatched", "open"), None);
    assert_eq!(page.get("key_open", "unwatched", &[("key", "a")]), None);
    assert_eq!(page.transitions("unwatched", "open", "manual"), Some(1));
}

#[test]
fn rejections_in_shadow_mode_are_counted_separately() {
    let hosts = hosts(&Metrics::new("shadow").named(["a"]));
    hosts.command(&"a", |host| host.trip()).unwrap();
    assert!(hosts.of("a").acquire().is_err());
    hosts.enforcement().set_percent(0).unwrap();
    for _ in 0..2 {
        let passes = hosts.of("a").acquire().unwrap();
        passes.report(Outcome::Success);
    }
    let page = Page::now();
    for (mode, count) in [("enforced", 1), ("shadow", 2)] {
        let labels = [("key", "a"), ("enforcement", mode)];
        let of_key = page.get("key_rejections", "shadow", &labels);
        assert_eq!(of_key, Some(count));
        assert_eq!(page.get("rejections", "shadow", &labels[1..]), Some(count));
    }
    // Passed in shadow mode, but not admitted.
    assert_eq!(page.calls("shadow", "success"), Some(0));
}

#[test]
fn a_registry_that_is_made_again_goes_on_with_the_labels_of_its_keys() {
    for _ in 0..2 {
        let hosts = hosts(&Metrics::new("again").max_keys(1));
        hosts.command(&"a", |host| host.trip()).unwrap();
    }
    Page::now();
    let opened = Page::now().get("key_opened", "again", &[("key", "a")]);
    assert_eq!(opened, Some(2));
}

/// The name is what counts together: metrics that are made a second time, in place of a clone, show the same.
#[test]
fn the_gauge_of_a_key_is_right_whichever_metrics_of_that_name_watch() {
    let hosts = hosts(&Metrics::new("made-twice"));
    let metrics: Metrics<OfKeys> = Metrics::new("made-twice");
    metrics.watch(&hosts);
    let open = || Page::now().get("key_open", "made-twice", &[("key", "a")]);
    hosts.command(&"a", |host| host.trip()).unwrap();
    assert_eq!(open(), Some(1));
    hosts.command(&"a", |host| host.reset()).unwrap();
    assert_eq!(open(), Some(0));
    drop(metrics);
    hosts.command(&"a", |host| host.trip()).unwrap();
    assert_eq!(open(), Some(1));
}
