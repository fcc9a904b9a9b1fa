// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times since which breakers and keys have been down.

use std::cell::OnceCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atomic_breaker_observe::{Metrics, publish};
use atomic_breaker_server::{Breaker, Config, Guard, ManualClock, Registry, State, StdClock};
use metrics::Key;

use crate::support::{CallsBack, Page, RULES, counted};

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

fn since(name: &str, key: Option<&str>) -> Option<f64> {
    let series = match key {
        None => format!("down_since{{circuit_breaker_name=\"{name}\"}} "),
        Some(key) => format!(
            "key_down_since{{circuit_breaker_name=\"{name}\",circuit_breaker_key=\"{key}\"}} "
        ),
    };
    let series = format!("circuit_breaker_{series}");
    let page = Page::now();
    let line = page.0.lines().find_map(|line| line.strip_prefix(&series))?;
    Some(line.parse().unwrap())
}

/// As long as it takes to tell two times apart.
fn wait() {
    thread::sleep(Duration::from_millis(5));
}

#[test]
fn a_breaker_is_down_from_its_first_trip_through_all_probes() {
    let breaker = counted("down");
    assert_eq!(since("down", None), Some(0.0));
    let before = now();
    breaker.trip();
    let after = now();
    let began = since("down", None).unwrap();
    assert!((before - 0.001..=after).contains(&began), "{began}");
    for _ in 0..3 {
        wait();
        breaker.probe_now();
        let _ = breaker.call(|| Err::<(), _>("no answer"));
    }
    breaker.force_open();
    assert_eq!(since("down", None), Some(began));
    breaker.reset();
    assert_eq!(since("down", None), Some(0.0));
    wait();
    breaker.trip();
    assert!(since("down", None).unwrap() > began);
}

/// A look sees what a call would find: no observer is notified when the open time ends.
#[test]
fn the_gauge_of_a_single_breaker_is_half_open_once_its_open_time_is_over() {
    let breaker = Breaker::builder(RULES.open_for(Duration::from_millis(1)), StdClock)
        .observer(Metrics::new("due"))
        .build();
    let state = |state| Page::now().breakers("due", state);
    breaker.trip_for(Duration::from_secs(3_600));
    assert_eq!((state("open"), state("half_open")), (Some(1), Some(0)));
    breaker.reset();
    breaker.trip();
    let began = since("due", None);
    wait();
    assert_eq!((state("open"), state("half_open")), (Some(0), Some(1)));
    assert_eq!(since("due", None), began);
    breaker.trip_for(Duration::from_secs(3_600));
    assert_eq!((state("open"), state("half_open")), (Some(1), Some(0)));
    breaker.call(|| Ok::<_, ()>(())).unwrap_err();
    breaker.reset();
    assert_eq!((state("open"), state("closed")), (Some(0), Some(1)));
}

#[test]
fn of_several_breakers_of_a_name_the_first_that_is_still_down_counts() {
    let [a, b] = [counted("several down"), counted("several down")];
    a.trip();
    wait();
    b.trip();
    let first = since("several down", None).unwrap();
    a.reset();
    let second = since("several down", None).unwrap();
    assert!(second > first, "{second}");
    drop(b);
    assert_eq!(since("several down", None), Some(0.0));
}

#[test]
fn an_outage_ends_when_calls_pass_again() {
    let second = Duration::from_secs(1);
    let rules = Config::new();
    for rules in [
        rules.gradual_return(10, second),
        // Its trips are forgotten by a call, which may never come.
        rules.exponential(2, 60 * second),
    ] {
        let clock = ManualClock::new();
        let breaker = Breaker::builder(rules, &clock)
            .observer(Metrics::new("returning down"))
            .build();
        breaker.trip();
        let began = since("returning down", None);
        breaker.probe_now();
        assert_eq!(since("returning down", None), began);
        breaker.call(|| Ok::<_, &str>(())).unwrap();
        assert_eq!(breaker.state(), State::Returning);
        assert_eq!(since("returning down", None), Some(0.0));
        breaker.trip();
        assert!(since("returning down", None) > began, "another one");
    }
}

#[test]
fn a_key_is_down_from_its_first_trip_also_if_it_is_watched_later() {
    let metrics = Metrics::new("keys down").named(["unseen"]);
    let build = |observer| {
        let hosts = Registry::builder(RULES).observer(observer);
        Arc::new(hosts.build().unwrap())
    };
    let hosts = build(metrics.clone());
    hosts.command(&"a", |host| host.trip()).unwrap();
    let after = now();
    wait();
    assert_eq!(since("keys down", Some("a")), None, "not watched");
    metrics.watch(&hosts);
    let began = since("keys down", Some("a")).unwrap();
    assert!(began > 0.0 && began <= after, "{began}");
    wait();
    hosts.command(&"a", |host| host.probe_now()).unwrap();
    let _ = hosts.of("a").call(|| Err::<(), _>("no answer"));
    assert_eq!(since("keys down", Some("a")), Some(began));
    hosts.command(&"a", |host| host.reset()).unwrap();
    assert_eq!(since("keys down", Some("a")), Some(0.0));
    assert_eq!(since("keys down", Some("unseen")), Some(0.0));
}

#[test]
fn of_keys_without_a_label_the_first_that_is_down_counts_as_other() {
    let metrics = Metrics::new("unlabelled down").max_keys(1);
    let hosts = Registry::builder(RULES).observer(metrics.clone());
    let hosts = Arc::new(hosts.build().unwrap());
    metrics.watch(&hosts);
    let other = || since("unlabelled down", Some("other"));
    let is_open = || Page::now().get("key_open", "unlabelled down", &[("key", "other")]);
    assert_eq!((other(), is_open()), (Some(0.0), Some(0)));
    hosts.command(&"labelled", |host| host.trip()).unwrap();
    assert_eq!((other(), is_open()), (Some(0.0), Some(0)));
    hosts.command(&"b", |host| host.trip()).unwrap();
    let before = now();
    let first = other().unwrap();
    assert!((before - 0.001..=now()).contains(&first), "{first}");
    wait();
    hosts.command(&"c", |host| host.force_open()).unwrap();
    assert_eq!((other(), is_open()), (Some(first), Some(1)));
    hosts.command(&"b", |host| host.reset()).unwrap();
    let second = other().unwrap();
    assert!(second > first, "{second}");
    wait();
    // Its next outage is another one, though it was not seen up in between.
    hosts.command(&"c", |host| host.release()).unwrap();
    hosts.command(&"c", |host| host.reset()).unwrap();
    hosts.command(&"c", |host| host.trip()).unwrap();
    assert!(other().unwrap() > second);
    hosts.command(&"c", |host| host.reset()).unwrap();
    assert_eq!((other(), is_open()), (Some(0.0), Some(0)));
}

#[test]
fn a_key_that_is_named_other_is_down_as_other() {
    let metrics = Metrics::new("other down");
    let hosts = Registry::builder(RULES).observer(metrics.clone());
    let hosts = Arc::new(hosts.build().unwrap());
    metrics.watch(&hosts);
    hosts.command(&"other", |host| host.trip()).unwrap();
    assert!(since("other down", Some("other")).unwrap() > 0.0);
    hosts.command(&"other", |host| host.reset()).unwrap();
    assert_eq!(since("other down", Some("other")), Some(0.0));
}

#[test]
fn a_key_that_opens_while_metrics_are_published_is_down_since_then() {
    let metrics = Metrics::new("opens meanwhile").named(["a"]);
    let hosts = Registry::builder(RULES).observer(metrics.clone());
    let hosts = Arc::new(hosts.build().unwrap());
    metrics.watch(&hosts);
    let opened = OnceCell::new();
    // When the first gauge is set, the states have been looked at.
    let trip_once = |gauge: &Key| {
        if gauge.labels().any(|it| it.value() == "opens meanwhile") {
            opened.get_or_init(|| hosts.command(&"a", |host| host.trip()).unwrap());
        }
    };
    let recorder = CallsBack::new(|| {}, trip_once);
    metrics::with_local_recorder(&recorder, publish);
    assert!(opened.get().is_some());
    let after = now();
    wait();
    let began = since("opens meanwhile", Some("a")).unwrap();
    assert!(began > 0.0 && began <= after, "{began}");
}

/// A key that has another thread publish while it is written, once it is told to.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Publishing;

static PUBLISHES: AtomicBool = AtomicBool::new(false);
static HAS_PUBLISHED: AtomicBool = AtomicBool::new(false);

impl fmt::Display for Publishing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if PUBLISHES.swap(false, Ordering::SeqCst) {
            let (ended, end) = mpsc::channel();
            thread::spawn(move || {
                publish();
                let _ = ended.send(());
            });
            let end = end.recv_timeout(Duration::from_secs(10));
            HAS_PUBLISHED.store(end.is_ok(), Ordering::SeqCst);
        }
        f.write_str("a")
    }
}

#[test]
fn publishing_does_not_wait_for_a_key_that_is_being_written() {
    let metrics = Metrics::new("publishing").max_keys(0);
    let hosts = Registry::builder(RULES).observer(metrics.clone());
    let hosts = Arc::new(hosts.build().unwrap());
    metrics.watch(&hosts);
    hosts.command(&Publishing, |it| it.trip()).unwrap();
    assert!(since("publishing", Some("other")).unwrap() > 0.0);
    PUBLISHES.store(true, Ordering::SeqCst);
    hosts.command(&Publishing, |it| it.reset()).unwrap();
    assert!(HAS_PUBLISHED.load(Ordering::SeqCst));
    assert_eq!(since("publishing", Some("other")), Some(0.0));
}
