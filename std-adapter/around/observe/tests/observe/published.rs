// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recorders that are installed late, are replaced, or call back.

use std::cell::Cell;
use std::thread;

use atomic_breaker_observe::{Metrics, OfBreaker, publish};
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::support::{CallsBack, Page, counted};

#[test]
fn a_recorder_that_comes_late_and_one_that_replaces_it_get_all_that_was_counted() {
    let breaker = counted("late");
    for _ in 0..10 {
        breaker.call(|| Ok::<_, ()>(())).unwrap();
        // There is no recorder yet.
        publish();
    }
    assert_eq!(Page::now().calls("late", "success"), Some(10));
    assert_eq!(Page::now().calls("late", "success"), Some(10));
}

#[test]
fn publishing_twice_or_at_the_same_time_counts_nothing_twice() {
    let breaker = counted("twice");
    let recorder = PrometheusBuilder::new().build_recorder();
    let publish_there = || metrics::with_local_recorder(&recorder, publish);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    breaker.call(|| Ok::<_, ()>(())).unwrap();
                    publish_there();
                }
            });
        }
    });
    publish_there();
    let page = Page(recorder.handle().render());
    assert_eq!(page.calls("twice", "success"), Some(200));
}

#[test]
fn metrics_are_described() {
    let _metrics: Metrics = Metrics::new("described");
    let page = Page::now();
    for line in [
        "# HELP circuit_breaker_calls Calls that were admitted, by how they ended.",
        "# TYPE circuit_breaker_calls counter",
        "# TYPE circuit_breaker_breakers gauge",
    ] {
        assert!(page.0.contains(line), "{line}");
    }
}

#[test]
fn names_with_the_suffixes_that_prometheus_recommends_are_sound() {
    let _metrics: Metrics = Metrics::new("recommended");
    let builder = PrometheusBuilder::new().with_recommended_naming(true);
    let recorder = builder.build_recorder();
    metrics::with_local_recorder(&recorder, publish);
    let page = recorder.handle().render();
    assert!(page.contains("\ncircuit_breaker_calls_total{"));
    assert!(page.contains("\ncircuit_breaker_breakers{"));
}

#[test]
fn a_recorder_may_use_the_breaker_publish_and_make_others() {
    let breaker = counted("called-back");
    let call = || {
        breaker.trip();
        breaker.reset();
        breaker.call(|| Ok::<_, ()>(())).unwrap();
        drop(Metrics::<OfBreaker>::new("made-meanwhile"));
    };
    let depth = Cell::new(0);
    let publish_once = || {
        if depth.replace(1) == 0 {
            call();
            publish();
        }
    };
    let recorder = CallsBack::new(publish_once, |_| call());
    metrics::with_local_recorder(&recorder, publish);
    assert_eq!(depth.get(), 1);
    assert!(Page::now().calls("called-back", "success") > Some(1));
}
