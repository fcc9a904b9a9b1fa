// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timeline: the times and the causes.

use crate::support::{RULES, World, assert_has};
use atomic_breaker_admin::Timeline;
use atomic_breaker_server::Guard;
use serde_json::{Value, json};

#[tokio::test]
async fn transitions_come_newest_first_with_the_words_of_the_failure() {
    let world = World::new();
    let app = world.app();
    world.trip("a");
    world.payments.breaker().trip();
    let events = app.get("/timeline").await.json()["events"].clone();
    assert_has(
        &events[0],
        &json!({ "of": "payments", "key": null, "number": 2 }),
    );
    let first = &events[1];
    assert_has(
        first,
        &json!({ "kind": "transition", "from": "closed", "to": "open" }),
    );
    assert_has(
        first,
        &json!({ "key": "a", "failure": "503 Service Unavailable" }),
    );
    assert_has(
        first,
        &json!({ "why": "failures reached the limit", "open_for_ms": 5_000 }),
    );
}

#[tokio::test]
async fn the_timeline_is_bounded_and_forgotten_transitions_are_unknown() {
    let world = World::with(Timeline::keeping(3, 2).unwrap(), RULES, 64);
    let app = world.app();
    for key in ["a", "b", "c", "d"] {
        world.trip(key);
    }
    let events = app.get("/timeline").await.json();
    let keys: Vec<_> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["key"])
        .collect();
    assert_eq!(
        (json!(keys), &events["has_more"]),
        (json!(["d", "c", "b"]), &json!(false))
    );
    let status = app.get("/status?of=hosts").await.json();
    let is_known: Vec<_> = status["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| !it["since"].is_null())
        .collect();
    assert_eq!(is_known, [false, false, true, true]);
}

#[tokio::test]
async fn transitions_of_closed_keys_are_forgotten_first() {
    let world = World::with(Timeline::keeping(100, 2).unwrap(), RULES, 64);
    let app = world.app();
    world.trip("long open");
    for key in ["a", "b", "c"] {
        world.trip(key);
        let key = key.to_owned();
        world.hosts.command(&key, |host| host.reset()).unwrap();
    }
    let entry = app.get("/status?search=long").await.json()["entries"][0].clone();
    assert_eq!(entry["since"]["why"], "failures reached the limit");
}

#[tokio::test]
async fn a_state_that_was_not_recorded_is_not_explained_by_an_older_one() {
    use atomic_breaker_server::{Breaker, StdClock, word::NativeWord};
    use std::sync::Arc;

    // One word, of which another breaker changes the state, as another process would.
    let word: &'static NativeWord = Box::leak(Box::default());
    let timeline = Timeline::new();
    let rules = atomic_breaker_server::Rules::new(RULES);
    let seen = Breaker::from_parts(word, rules, StdClock, (), timeline.recorder("shared"));
    let other = Breaker::from_parts(word, rules, StdClock, (), ());
    let app = crate::support::App::of(
        atomic_breaker_admin::Admin::new(&timeline).breaker("shared", Arc::new(seen)),
    );
    let since = async || {
        let entry = app.get("/status").await.json()["entries"][0].clone();
        (entry["state"].clone(), entry["since"]["why"].clone())
    };
    app.changed(json!({ "of": "shared", "do": "trip" })).await;
    assert_eq!(since().await, (json!("open"), json!("by command")));
    other.reset();
    assert_eq!(since().await, (json!("closed"), Value::Null));
    other.trip();
    assert_eq!(
        since().await,
        (json!("open"), Value::Null),
        "open again, and not by the first trip"
    );
}

#[tokio::test]
async fn the_timeline_is_read_in_pages() {
    let world = World::new();
    let app = world.app();
    for number in 0..600 {
        world.trip(&format!("key {}", number % 10));
        let key = format!("key {}", number % 10);
        world.hosts.command(&key, |host| host.reset()).unwrap();
    }
    let first = app.get("/timeline?limit=1000").await.json();
    assert_eq!(
        (
            first["events"].as_array().unwrap().len(),
            &first["has_more"]
        ),
        (1_000, &json!(false))
    );
    let page = app.get("/timeline?limit=2&key=key%205").await.json();
    assert_eq!(
        (&page["events"][0]["key"], &page["has_more"]),
        (&json!("key 5"), &json!(true))
    );
    let before = page["events"][1]["number"].as_u64().unwrap();
    let next = app
        .get(&format!("/timeline?limit=2&key=key%205&before={before}"))
        .await
        .json();
    assert!(next["events"][0]["number"].as_u64().unwrap() < before);
    let last = app.get("/timeline?before=201").await.json();
    // 200 are forgotten.
    assert_has(&last, &json!({ "events": [], "has_more": false }));
    assert_eq!(
        app.get("/timeline?search=KEY%205&limit=1").await.json()["events"][0]["key"],
        "key 5"
    );
}

#[tokio::test]
async fn an_observer_in_a_pair_records_as_well() {
    use atomic_breaker_server::{Breaker, StdClock};
    let timeline = Timeline::new();
    let breaker = Breaker::builder(RULES, StdClock)
        .observer(((), timeline.recorder("paired")))
        .build();
    breaker.trip();
    let app = crate::support::App::of(
        atomic_breaker_admin::Admin::new(&timeline).breaker("paired", std::sync::Arc::new(breaker)),
    );
    assert_eq!(app.get("/timeline").await.json()["events"][0]["to"], "open");
}

#[tokio::test]
async fn since_follows_the_word_after_a_quiet_month_and_a_recorder_that_was_held_up() {
    use atomic_breaker_admin::Recorder;
    use atomic_breaker_server::{KeyedObserver, ManualClock, Registry, State, Transition};
    use std::sync::{Arc, OnceLock};
    use std::time::Duration;

    /// Held up before the timeline hears of a trip: the key is reset meanwhile.
    struct HeldUp;
    type Hosts = Registry<String, &'static ManualClock, (), (HeldUp, Recorder)>;
    static HOSTS: OnceLock<Arc<Hosts>> = OnceLock::new();
    static CLOCK: ManualClock = ManualClock::new();
    impl KeyedObserver<String> for HeldUp {
        fn transition(&self, key: &String, transition: &Transition) {
            if key == "held up" && transition.to == State::Open {
                CLOCK.advance(Duration::from_secs(2));
                let hosts = HOSTS.get().unwrap();
                hosts.command(key, |host| host.force_open()).unwrap();
            }
        }
    }

    let timeline = Timeline::new();
    let hosts = Registry::builder(RULES)
        .clock(&CLOCK)
        .observer((HeldUp, timeline.recorder("hosts")))
        .build()
        .unwrap();
    let hosts = HOSTS.get_or_init(|| Arc::new(hosts));
    let app = crate::support::App::of(
        atomic_breaker_admin::Admin::new(&timeline).registry("hosts", Arc::clone(hosts)),
    );
    let since = async |key: &str| {
        let entry = app.get(&format!("/status?search={key}")).await.json()["entries"][0].clone();
        (entry["state"].clone(), entry["since"]["to"].clone())
    };
    let fail = |key: &str| {
        for _ in 0..2 {
            let _ = hosts.of(key.to_owned()).call(|| Err::<(), _>("down"));
        }
    };
    fail("held up");
    let held = json!("forced-open");
    assert_eq!(since("held").await, (held.clone(), held));
    fail("quiet");
    for days in [25, 30, 49] {
        for to in ["closed", "open"] {
            CLOCK.advance(Duration::from_secs(days * 24 * 3_600));
            hosts
                .command(&"quiet".to_owned(), |host| match to {
                    "open" => host.trip(),
                    _ => host.reset(),
                })
                .unwrap();
            assert_eq!(since("quiet").await, (json!(to), json!(to)));
        }
    }
}
