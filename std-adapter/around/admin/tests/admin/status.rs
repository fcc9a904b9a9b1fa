// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reads.

use crate::support::{App, RULES, World, assert_has};
use atomic_breaker_admin::{Admin, Operator, Timeline};
use atomic_breaker_server::{Config, Guard, Registry, breaker};
use axum::Extension;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_key_is_shown_with_its_state_cause_last_failure_counts_and_time_left() {
    let world = World::new();
    let app = world.app();
    world.fail("b.example");
    world.trip("a.example");
    let status = app.get("/status").await.json();
    let this = format!("process {}", std::process::id());
    assert!(status["instance"].as_str().unwrap().ends_with(&this));
    assert_eq!(status["operator"], "alice");
    assert_eq!(status["may_change"], true);
    let entries = status["entries"].as_array().unwrap();
    let [open, failing, payments] = &entries[..] else {
        panic!("{status:#}")
    };
    assert_has(open, &json!({ "of": "hosts", "key": "a.example" }));
    assert_eq!(open["state"], "open");
    assert_eq!(open["since"]["why"], "failures reached the limit");
    assert_eq!(open["since"]["cause"], "failure-limit");
    assert_eq!(open["since"]["by"], Value::Null);
    let (at, since) = (
        status["at"].as_u64().unwrap(),
        open["since"]["at"].as_u64().unwrap(),
    );
    assert!(since <= at && at - since < 60_000, "{since} {at}");
    assert_eq!(open["last_failure"]["text"], "503 Service Unavailable");
    assert!((1..=5_000).contains(&open["wait_ms"].as_u64().unwrap()));
    assert_eq!(open["trips"], 1);
    assert_has(failing, &json!({ "key": "b.example", "failures": 1 }));
    assert_eq!(failing["since"], Value::Null, "it has never changed");
    assert_has(payments, &json!({ "of": "payments", "key": null }));
}

#[tokio::test]
async fn probes_in_flight_and_an_open_time_that_is_over_are_shown() {
    let rules = RULES.open_for(Duration::from_millis(1));
    let world = World::with(Timeline::new(), rules, 8);
    let app = world.app();
    world.trip("a.example");
    let mut entry = Value::Null;
    for _ in 0..5_000 {
        entry = app.get("/status?of=hosts").await.json()["entries"][0].clone();
        if entry["is_due"] == true {
            break;
        }
    }
    assert_has(
        &entry,
        &json!({ "state": "half-open", "is_due": true, "probes_in_flight": 0 }),
    );
    assert_eq!(entry["wait_ms"], Value::Null);
    // What opened it is still the last event.
    assert_eq!(entry["since"]["cause"], "failure-limit");
    let permit =
        atomic_breaker_server::KeyGuard::new(&*world.hosts, "a.example".to_owned()).acquire();
    let entry = app.get("/status?of=hosts").await.json()["entries"][0].clone();
    assert_has(
        &entry,
        &json!({ "state": "half-open", "probes_in_flight": 1 }),
    );
    assert_eq!(entry["since"]["why"], "the open time is over");
    drop(permit);
}

#[tokio::test]
async fn keys_are_searched_filtered_ordered_and_paged() {
    let world = World::new();
    let app = world.app();
    for key in ["c.example", "B.example", "a.test"] {
        world.fail(key);
    }
    world.trip("d.example");
    let keys = async |query: &str| {
        let status = app.get(&format!("/status?of=hosts&{query}")).await.json();
        let keys: Vec<_> = status["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["key"].clone())
            .collect();
        (json!(keys), status)
    };
    assert_eq!(
        keys("").await.0,
        json!(["d.example", "B.example", "a.test", "c.example"])
    );
    assert_eq!(
        keys("order=key").await.0,
        json!(["B.example", "a.test", "c.example", "d.example"])
    );
    assert_eq!(keys("search=b.EX").await.0, json!(["B.example"]));
    assert_eq!(keys("state=open").await.0, json!(["d.example"]));
    let (page, status) = keys("order=key&limit=2&offset=1").await;
    assert_eq!(page, json!(["a.test", "c.example"]));
    assert_has(&status, &json!({ "matching": 4, "offset": 1 }));
    let counts = status["states"].as_array().unwrap();
    assert!(
        counts.contains(&json!({ "state": "closed", "count": 3 })),
        "{status:#}"
    );
    assert!(
        counts.contains(&json!({ "state": "open", "count": 1 })),
        "{status:#}"
    );
    assert_eq!(keys("offset=99").await.0, json!([]));
}

#[tokio::test]
async fn an_invalid_query_is_refused() {
    let app = World::new().app();
    app.get("/status?limit=0")
        .await
        .refused_with(400, "1 to 1000");
    for path in ["status", "timeline"] {
        let long = "x".repeat(257);
        let refused = app.get(&format!("/{path}?search={long}")).await;
        refused.refused_with(400, "256 bytes");
        let search = &long[1..];
        let answer = app.get(&format!("/{path}?search={search}")).await;
        answer.json();
    }
    app.get("/status?limit=1001")
        .await
        .refused_with(400, "offset");
    app.get("/status?state=ajar")
        .await
        .refused_with(400, "half-open");
    app.get("/status?keys=1")
        .await
        .refused_with(400, "unknown field `keys`");
    app.get("/timeline?limit=0")
        .await
        .refused_with(400, "before");
    app.get("/nothing").await.refused_with(404, "control");
}

#[tokio::test]
async fn sources_show_their_size_rules_and_mode() {
    let world = World::new();
    world.fail("a.example");
    world.hosts.enforcement().set_percent(0).unwrap();
    let status = world.app().get("/status").await.json();
    let [hosts, payments] = &status["sources"].as_array().unwrap()[..] else {
        panic!("{status:#}")
    };
    assert_eq!(hosts["kind"], "registry");
    assert_eq!(
        hosts["keys"],
        json!({ "known": 1, "capacity": 64, "evicted": 0, "unguarded": 0 })
    );
    assert_has(
        hosts,
        &json!({ "enforced_percent": 0, "can_change_rules": true }),
    );
    assert_eq!(hosts["rules"]["consecutive_failures"], 2);
    assert_eq!(hosts["is_recorded"], true);
    assert_has(
        payments,
        &json!({ "kind": "breaker", "can_change_rules": false }),
    );
    assert_eq!(payments["enforced_percent"], 100);
}

/// A key that is not displayed as it is told apart.
/// Shards 1 and 2 have the same name.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shard(u32);

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}", self.0.max(2))
    }
}

#[tokio::test]
async fn keys_with_the_same_name_are_not_mistaken_for_each_other() {
    let timeline = Timeline::new();
    let shards = Registry::builder(RULES).observer(timeline.recorder("shards"));
    let shards = Arc::new(shards.build().unwrap());
    for shard in [1, 2, 3] {
        let _ = shards.of(Shard(shard)).call(|| Err::<(), _>("down"));
    }
    let app = App::of(Admin::new(&timeline).registry("shards", Arc::clone(&shards)));
    let open = json!({ "of": "shards", "key": "shard 2", "do": "force-open" });
    let error = app.change(&open).await.refused(409);
    assert!(error.contains("several keys have this name"), "{error}");
    let failures = |shard| shards.entry(&Shard(shard)).unwrap().snapshot.failures();
    assert_eq!([1, 2, 3].map(failures), [1, 1, 1]);

    let reset = json!({ "of": "shards", "key": "shard 3", "do": "reset" });
    assert_eq!(app.change(&reset).await.json()["changed"], true);
    assert_eq!([1, 2, 3].map(failures), [1, 1, 0]);
}

#[tokio::test]
async fn long_keys_are_cut_and_stay_distinct() {
    let world = World::new();
    let app = world.app();
    let long = "x".repeat(100_000);
    world.fail(&format!("{long}1"));
    world.fail(&format!("{long}2"));
    let status = app.get("/status?of=hosts").await.json();
    let keys: Vec<_> = status["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["key"].as_str().unwrap())
        .collect();
    assert!(
        keys[0] != keys[1] && keys.iter().all(|key| key.len() <= 256),
        "{keys:?}"
    );
    let trip = json!({ "of": "hosts", "key": keys[0], "do": "trip" });
    assert_eq!(app.change(&trip).await.json()["entry"]["state"], "open");
    let status = app.get("/status?state=open").await.json();
    assert_eq!(
        (&status["matching"], status["entries"][0]["key"].as_str()),
        (&json!(1), Some(keys[0]))
    );
    assert_eq!(
        status["entries"][0]["since"]["by"], "alice",
        "the timeline cuts it alike"
    );
}

#[tokio::test]
async fn static_breakers_and_those_without_a_recorder_are_shown() {
    static PLAIN: std::sync::LazyLock<atomic_breaker_server::Breaker> =
        std::sync::LazyLock::new(|| breaker(Config::new()));
    let app = App::of(Admin::new(&Timeline::new()).breaker("plain", &*PLAIN));
    PLAIN.trip();
    let status = app.get("/status").await.json();
    assert_eq!(status["sources"][0]["is_recorded"], false);
    assert_eq!(
        status["sources"][0]["enforced_percent"],
        Value::Null,
        "it has no shadow mode"
    );
    let entry = &status["entries"][0];
    // It was not recorded.
    assert_has(entry, &json!({ "state": "open", "since": null }));
    let app = App::of(Admin::new(&Timeline::new()).breaker("plain", &*PLAIN));
    let reset = app.changed(json!({ "of": "plain", "do": "reset" })).await;
    assert_eq!(reset["entry"]["state"], "closed");
    assert_eq!(
        reset["entry"]["since"]["by"], "alice",
        "what was done here is known"
    );
}

#[tokio::test]
async fn a_viewer_sees_that_it_may_change_nothing() {
    let world = World::new();
    let app = App(world
        .admin()
        .router()
        .unwrap()
        .layer(Extension(Operator::viewer("bob"))));
    assert_eq!(app.get("/status").await.json()["may_change"], false);
    let reset = json!({ "of": "payments", "do": "trip" });
    app.refuses(&reset, 403, "\"bob\" may look").await;
    assert_eq!(world.payments.breaker().snapshot().epoch(), 0);
}
