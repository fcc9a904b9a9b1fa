// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of calls that are rejected.

use std::time::Duration;

use crate::support::{App, World, assert_has};
use atomic_breaker_admin::Timeline;
use atomic_breaker_server::{Config, Guard};
use serde_json::{Value, json};

async fn entry(app: &App, search: &str) -> Value {
    let path = format!("/status?search={search}");
    app.get(&path).await.json()["entries"][0].clone()
}

/// Calls of a key: all that are rejected count, from any caller.
fn call(world: &World, key: &str, times: usize) {
    for _ in 0..times {
        let _ = world.hosts.of(key.to_owned()).call(|| Ok::<_, &str>(()));
    }
}

#[tokio::test]
async fn of_each_breaker_the_rejections_since_it_opened_are_shown() {
    let world = World::new();
    let app = world.app();
    world.trip("a");
    world.trip("b");
    assert_has(
        &entry(&app, "hosts").await["rejections"],
        &json!({ "count": 0, "per_second": null, "let_pass": 0 }),
    );
    call(&world, "a", 7);
    call(&world, "b", 2);
    let of = async |key: &str| {
        let status = app.get("/status").await.json();
        let entries = status["entries"].as_array().unwrap().clone();
        let found = entries.into_iter().find(|it| it["key"] == key);
        found.unwrap()["rejections"].clone()
    };
    assert_eq!(of("a").await["count"], 7);
    assert_eq!(of("b").await["count"], 2);
    // The next outage begins anew, and one that is over is none.
    let a = "a".to_owned();
    world.hosts.command(&a, |host| host.reset()).unwrap();
    assert_eq!(of("a").await, Value::Null);
    world.trip("a");
    call(&world, "a", 1);
    let rejections = of("a").await;
    assert_eq!(rejections["count"], 1);
    assert!(rejections["since"].as_u64().unwrap() > 1_600_000_000_000);

    world.payments.breaker().trip();
    for _ in 0..5 {
        let _ = world.payments.call(|| Ok::<_, &str>(()));
    }
    assert_eq!(entry(&app, "payments").await["rejections"]["count"], 5);
}

#[tokio::test]
async fn an_outage_is_counted_through_all_its_probes_and_a_gradual_return() {
    let rules = Config::new()
        .consecutive_failures(2)
        .open_for(Duration::from_secs(3_600))
        .gradual_return(10, Duration::from_secs(3_600));
    let world = World::with(Timeline::new(), rules, 64);
    let app = world.app();
    let probe_now = || {
        let made = world
            .hosts
            .command(&"a".to_owned(), |host| host.probe_now());
        assert!(made.unwrap().is_some());
    };
    world.trip("a");
    for _ in 0..3 {
        call(&world, "a", 10);
        probe_now();
        world.fail("a");
    }
    assert_eq!(entry(&app, "hosts").await["rejections"]["count"], 30);
    probe_now();
    call(&world, "a", 1_000);
    let returning = entry(&app, "hosts").await;
    assert_eq!(returning["state"], "returning");
    let count = returning["rejections"]["count"].as_u64().unwrap();
    assert!((500..1_030).contains(&count), "{count}");
}

#[tokio::test]
async fn calls_that_shadow_mode_lets_pass_are_counted_by_themselves() {
    let world = World::new();
    let app = world.app();
    world.trip("a");
    world.hosts.enforcement().set_percent(0).unwrap();
    call(&world, "a", 4);
    assert_has(
        &entry(&app, "hosts").await["rejections"],
        &json!({ "count": 0, "let_pass": 4 }),
    );
}

#[tokio::test]
async fn the_rate_is_that_of_the_last_five_whole_seconds() {
    let world = World::new();
    let app = world.app();
    world.trip("a");
    call(&world, "a", 100);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    let first = entry(&app, "hosts").await["rejections"].clone();
    assert_eq!(first["per_second"], 100.0, "{first}");
    // Others in the second that is not over.
    call(&world, "a", 50);
    assert_eq!(
        entry(&app, "hosts").await["rejections"]["per_second"],
        100.0
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = entry(&app, "hosts").await["rejections"].clone();
    assert_eq!(second["per_second"], 75.0, "{second}");
    tokio::time::sleep(Duration::from_secs(4)).await;
    let later = entry(&app, "hosts").await["rejections"].clone();
    assert_eq!(later["per_second"], 10.0, "{later}");
    assert_eq!(later["count"], 150);
}
